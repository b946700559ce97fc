//go:build !race

package native

const overwriteFreed = false
