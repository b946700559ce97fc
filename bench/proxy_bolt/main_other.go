//go:build !linux

// Proxy_bolt asks what it costs to forward Bolt: many clients' requests to one backend.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "proxy_bolt: skipped: it needs Linux") }
