//go:build race

package native

// overwriteFreed makes a test that reads a freed message read garbage.
const overwriteFreed = true
