// Package formattest tests that a format keeps the contract of package format. Every format runs it.
//
// Documents come from two sources: the files testdata/vectors/*.txt beside the caller's test, and generators of random
// valid messages. For each document, Run checks that Lookup agrees with a full walk, that Find agrees with Lookup, and
// that a patch or insert that is undone restores the same bytes. Run then cuts the document at each byte and changes
// random bytes. It puts other bytes after the document, within its capacity. Check does the same checks for one input
// of a fuzz target. FuzzEdits is the body of a fuzz target for edits.
//
//	func TestContract(t *testing.T) { formattest.Run(t, cbor.Format{}, randomEvent) }
//
// A vector file has blocks separated by empty lines. A block has comments (#), input in hex, a line of dashes, and the
// expected result. The result is the list of values that Walk reports, or "error: " and the error of Validate. An input
// line that starts with | is text. A block without dashes is a comment. The flag -update rewrites the expected results:
// review the diff.
package formattest
