// Package edgex handles events of EdgeX as Go values and as encoded bytes. Go values are encoded byte for byte as EdgeX v4
// encodes them. Encoded bytes are read, validated and changed in place.
//
// The wire formats are CBOR and JSON of go-mod-core-contracts v4.0.3, which wrote testdata/vectors.json, the envelopes of
// go-mod-messaging, and the optimised form of 4.1. View reads and changes all of them without decoding the event, even within
// base64. The cost of changing an ID does not depend on the size of the event. Unmarshal is strict: it checks the size first,
// and bytes after the message are an error. Keys that EdgeX does not define become Extensions. Package edgex/pipeline
// implements the steps of an EdgeX app service on encoded events.
//
//	var v edgex.View
//	err := v.Open(data, edgex.MaxEvent) // in any form
//	device, err := v.DeviceName()
//	err = v.SetID("00000000-0000-4000-8000-00000000000f")
//	done, err := v.InPlace()
package edgex
