//go:build !linux

package loop

// Reserve does nothing: only Linux has such a table.
func Reserve() {}
