//go:build nopool

package bufpool

// Reuse is whether what is given back is handed out again: not in this build.
const Reuse = false
