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

// Named searches set for the child with this name. It returns the index of the child in children, or -1.
func Named(children []field.Node, set uint64, name []byte) int {
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if string(name) == children[i].Step.Name {
			return i
		}
	}
	return -1
}

// LowestIndex searches set for the child whose step has the lowest list index. It returns the index of this child in
// children, or -1 if no child has a list index.
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
