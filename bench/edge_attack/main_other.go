//go:build !linux

// Edge_attack measures what honest devices of a node notice while others misuse it.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "edge_attack: skipped: it needs Linux") }
