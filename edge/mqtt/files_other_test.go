//go:build !unix

package mqtt_test

// openFiles returns how many files the process may open.
func openFiles() int { return 8192 }
