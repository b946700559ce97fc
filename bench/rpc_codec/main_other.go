//go:build !linux

// Rpc_codec compares the content types of calls.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "rpc_codec: skipped: it needs Linux") }
