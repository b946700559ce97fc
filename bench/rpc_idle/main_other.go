//go:build !linux

// Rpc_idle measures idle connections of RPC systems.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "rpc_idle: skipped: it needs Linux") }
