//go:build !linux

// Python_client measures what a client in Python sends and receives.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "python_client: skipped: it needs Linux") }
