//go:build !linux

// Upgrade measures what clients see while a running server is replaced by another process.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "upgrade: skipped: it needs Linux") }
