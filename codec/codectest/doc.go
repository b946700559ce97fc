// Package codectest tests a codec against the contract of package codec.
//
// A codec's test gives values of the types that the codec supports. Run encodes and decodes each of them. It also overwrites
// the encoding after decoding, cuts it short, and damages it.
//
//	func TestContract(t *testing.T) { codectest.Run(t, json.Codec{}, reading{Name: "noise", Value: 31.5}) }
package codectest
