//go:build !nopool

package bufpool

// Reuse reports whether released buffers are used again, in this package and in the free lists of packages loop and proxy. A
// build with the tag nopool always allocates new buffers and leaves free ones to the garbage collector. The benchmark
// buffer_reuse compares the two builds.
const Reuse = true
