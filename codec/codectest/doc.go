// Package codectest tests that a codec keeps the contract of package codec.
//
// The test of a codec calls Run with values of the types that the codec supports. Run encodes and decodes each of them.
// It also overwrites the encoding after decoding, cuts the encoding short, and changes random bytes.
//
//	func TestContract(t *testing.T) { codectest.Run(t, json.Codec{}, reading{Name: "noise", Value: 31.5}) }
package codectest
