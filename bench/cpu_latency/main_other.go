//go:build !linux

// Cpu_latency asks how quick requests that only wait stay beside requests that compute, on a machine whose cores are all
// busy, and how much of the computing that costs.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "cpu_latency: skipped: it needs Linux") }
