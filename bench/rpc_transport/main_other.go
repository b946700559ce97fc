//go:build !linux

// Rpc_transport compares RPC systems.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "rpc_transport: skipped: it needs Linux") }
