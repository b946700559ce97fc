// Package formattest is the contract of package format as a test that every format runs.
//
// Documents come from the files testdata/vectors/*.txt beside the caller's test, and from generators of random valid
// messages. Run checks each document: a lookup equals a full walk, a set equals its lookups, and a patch or insert that is
// undone gives identical bytes. It then cuts the document at each byte and damages it at random, with other bytes behind
// its end. Check does the same for one input of a fuzz target. FuzzEdits is the body of a fuzz target for edits.
//
//	func TestContract(t *testing.T) { formattest.Run(t, cbor.Format{}, randomEvent) }
//
// A vector file has blocks separated by empty lines. A block has comments (#), input in hex, a line of dashes, and the
// expected result: the values that Walk reports, or "error: " and the error of Validate. An input line that starts with |
// is text. A block without dashes is a comment. Run with -update to rewrite the expected results, and review the diff.
package formattest
