//go:build !linux

// Proxy_http1 asks what it costs to forward a request of HTTP/1.1.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "proxy_http1: skipped: it needs Linux") }
