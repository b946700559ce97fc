//go:build !nopool

package bufpool

// Reuse reports whether released buffers, here and in the free lists of packages loop and proxy, are used again. A build with
// the tag nopool always allocates, and leaves free buffers to the garbage collector: bench's buffer_reuse compares the two.
const Reuse = true
