//go:build !linux

// Proxy_bolt measures what it costs to forward Bolt requests from many clients to one backend.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "proxy_bolt: skipped: it needs Linux") }
