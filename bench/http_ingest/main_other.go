//go:build !linux

// Http_ingest measures what it costs to take in messages over HTTP.
package main

import (
	"fmt"
	"os"
)

func main() { fmt.Fprintln(os.Stderr, "http_ingest: skipped: it needs Linux") }
