//go:build nopool

package bufpool

// Reuse reports whether released buffers are used again: not in this build.
const Reuse = false
