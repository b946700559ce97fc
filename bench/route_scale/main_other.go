//go:build !linux

// Route_scale measures what routes by host, prefix and header cost a proxy.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "route_scale: skipped: it needs Linux") }
