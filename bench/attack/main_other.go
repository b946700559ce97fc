//go:build !linux

// Attack measures what honest clients of a proxy notice of an attack.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "attack: skipped: it needs Linux") }
