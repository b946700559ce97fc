//go:build !linux

// Cpu_latency measures the latency of requests that only wait, beside requests that compute on all cores, and how much
// computing throughput that latency costs.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "cpu_latency: skipped: it needs Linux") }
