//go:build !linux

// Idle_conns measures what an idle connection costs.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "idle_conns: skipped: it needs Linux") }
