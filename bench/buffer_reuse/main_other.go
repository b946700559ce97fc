//go:build !linux

// Buffer_reuse measures what a proxy gains by reusing its buffers.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "buffer_reuse: skipped: it needs Linux") }
