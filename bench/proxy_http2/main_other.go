//go:build !linux

// Proxy_http2 measures what it costs to forward an HTTP/2 request.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "proxy_http2: skipped: it needs Linux") }
