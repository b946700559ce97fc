//go:build !linux

// Proxy_grpc measures what it costs to forward gRPC.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "proxy_grpc: skipped: it needs Linux") }
