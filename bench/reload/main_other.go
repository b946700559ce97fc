//go:build !linux

// Reload measures how long a proxy takes to use another configuration, and what that costs.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "reload: skipped: it needs Linux") }
