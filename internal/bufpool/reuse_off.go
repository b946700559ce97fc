//go:build nopool

package bufpool

// Reuse reports whether released buffers are used again. This build, with the tag nopool, always allocates new ones.
const Reuse = false
