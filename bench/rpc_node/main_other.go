//go:build !linux

// Rpc_node compares calls through a node with NATS.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "rpc_node: skipped: it needs Linux") }
