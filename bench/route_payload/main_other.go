//go:build !linux

// Route_payload measures what payload routes cost a proxy.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "route_payload: skipped: it needs Linux") }
