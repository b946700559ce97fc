//go:build !linux

package nats

// memoryDir returns a directory that is kept in memory until the machine stops, or "". There is none that each process may use.
func memoryDir() string { return "" }
