//go:build !linux

// Idle_conns asks what a connection costs that is there and does nothing.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "idle_conns: skipped: it needs Linux") }
