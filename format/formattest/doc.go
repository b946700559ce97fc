// Package formattest is the contract of package format as a test that every format runs.
//
// Documents come from two places: the files testdata/vectors/*.txt beside the caller's test, and generators that write
// random valid messages. Run holds each document to the contract: lookup equals a full walk, a set equals its lookups, a
// patch there and back gives identical bytes, and so does what is inserted and deleted again; then it cuts the document
// at each byte and damages it at random, with foreign bytes behind its end. Check does the same for one input of a fuzz
// target, and FuzzEdits is the body of one that changes anything anywhere.
//
//	func TestContract(t *testing.T) { formattest.Run(t, cbor.Format{}, randomEvent) }
//
// A vector file holds blocks parted by empty lines. A block's lines are comments (#), input in hex, where a line that
// starts with | is text to be taken as it stands, then a line of dashes, then what is expected: the values that Walk
// reports, or "error: " and the error of Validate. A block without dashes is a comment. Run with -update to write what
// is expected anew, and read the difference.
package formattest
