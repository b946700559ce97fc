//go:build !linux

// Proxy_tls measures what TLS costs a proxy.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "proxy_tls: skipped: it needs Linux") }
