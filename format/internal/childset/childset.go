// Package childset selects children of a field.Set's node by name or index.
//
// A format's Find stores the children that it has not found yet as the bits of one word. Bit i stands for children[i].
//
//	i := childset.Named(children, set, name)
package childset

import (
	"math/bits"

	"example.com/ferry/field"
)

// Named returns the index in children of the child in set with this name, or -1.
func Named(children []field.Node, set uint64, name []byte) int {
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if string(name) == children[i].Step.Name {
			return i
		}
	}
	return -1
}

// LowestIndex returns the child in set with the lowest list index, as an index in children. It returns -1 if no child
// has a list index.
func LowestIndex(children []field.Node, set uint64) int {
	child := -1
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if n := children[i].Step.Index; n >= 0 && (child < 0 || n < children[child].Step.Index) {
			child = i
		}
	}
	return child
}
