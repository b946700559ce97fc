//go:build !linux

// Rpc_tail measures the slowest calls of a client whose servers stall now and then.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "rpc_tail: skipped: it needs Linux") }
