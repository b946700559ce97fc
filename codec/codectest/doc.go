// Package codectest is the contract of package codec as a test that every codec runs.
//
// A codec hands over a few values of the types it is for; Run sends each there and back, through memory that is
// overwritten afterwards, cut short, and damaged.
//
//	func TestContract(t *testing.T) { codectest.Run(t, json.Codec{}, reading{Name: "noise", Value: 31.5}) }
package codectest
