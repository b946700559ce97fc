//go:build !wasip1

// Command go is a guest, which a node runs.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "this is a guest for a node: build it with GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared")
	os.Exit(1)
}
