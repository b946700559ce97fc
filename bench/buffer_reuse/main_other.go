//go:build !linux

// Buffer_reuse asks what it is worth to a proxy to use its memory again.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "buffer_reuse: skipped: it needs Linux") }
