// Package unmet selects among the steps that a field.Set has below one node.
//
// Find keeps the children that it has not met yet as bits of a word: bit i stands for children[i].
//
//	i := unmet.Named(children, set, name)
package unmet

import (
	"math/bits"

	"example.com/ferry/field"
)

// Named returns the index of the child in set with that name, or -1.
func Named(children []field.Node, set uint64, name []byte) int {
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if string(name) == children[i].Step.Name {
			return i
		}
	}
	return -1
}

// Lowest returns the index of the child in set whose list index is lowest, or -1 if none has one.
func Lowest(children []field.Node, set uint64) int {
	child := -1
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if n := children[i].Step.Index; n >= 0 && (child < 0 || n < children[child].Step.Index) {
			child = i
		}
	}
	return child
}
