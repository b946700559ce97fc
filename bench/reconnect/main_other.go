//go:build !linux

// Reconnect measures how fast a node lets devices with passwords in that all come back at once.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "reconnect: skipped: it needs Linux") }
