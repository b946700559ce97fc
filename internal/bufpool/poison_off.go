//go:build !race

package bufpool

const overwriteReleased = false
