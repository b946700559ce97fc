// Package edgex handles EdgeX's events in two ways: as Go values, whose encoding is byte for byte that of EdgeX v4, and as
// encoded bytes, which it reads, validates and changes in place.
//
// The wire formats are CBOR and JSON of go-mod-core-contracts v4.0.3, which wrote testdata/vectors.json, the envelopes of
// go-mod-messaging, and the optimised form of 4.1. View works on all of them without decoding, base64 included: the cost of
// changing an ID does not depend on the size of the event. Decoding into Go values is strict: it checks the size first, all
// bytes must be consumed, and keys that EdgeX does not define become Extensions. Package edgex/pipeline has the steps of an app
// service on encoded events.
//
//	var v edgex.View
//	err := v.Open(data, edgex.MaxEvent) // in any form
//	device, err := v.DeviceName()
//	err = v.SetID("00000000-0000-4000-8000-00000000000f")
//	done, err := v.InPlace()
package edgex
