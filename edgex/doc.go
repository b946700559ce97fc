// Package edgex is EdgeX's events: as Go values that are byte for byte what EdgeX v4 writes, and as encoded bytes that are
// read, validated and changed where they stand.
//
// The wire is that of go-mod-core-contracts v4.0.3, CBOR and JSON, of go-mod-messaging's envelopes around it, and the
// optimised form of 4.1; testdata/vectors.json was written by the former. View works on all its forms without decoding,
// base64 included: the cost of another ID does not depend on the size of the event. Decoding to Go values is strict: the
// size is checked first, all bytes must be consumed, and keys that an Event does not know are kept as Extensions. What an
// app service does with encoded events is in edgex/pipeline.
//
//	var v edgex.View
//	err := v.Open(data, edgex.MaxEvent) // in any form
//	device, err := v.DeviceName()
//	err = v.SetID("00000000-0000-4000-8000-00000000000f")
//	done, err := v.InPlace()
package edgex
