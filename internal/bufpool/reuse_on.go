//go:build !nopool

package bufpool

// Reuse is whether what is given back, here and to the free lists of package proxy, is handed out again. A build with the tag
// nopool allocates everything anew and leaves it to the garbage collector: bench's buffer_reuse compares the two.
const Reuse = true
