//go:build !linux

package nats

// memoryDir returns a directory that is kept in memory until the machine stops, or "". There is none that each process may use.
func memoryDir() string { return "" }

// ownDir reports whether path is a directory of this user, into which no other one can write.
func ownDir(string) bool { return false }
