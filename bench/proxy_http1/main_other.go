//go:build !linux

// Proxy_http1 measures what it costs to forward an HTTP/1.1 request.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "proxy_http1: skipped: it needs Linux") }
