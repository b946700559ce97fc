// Package edgex is EdgeX's events: as Go values that are byte for byte what EdgeX v4 writes, and as encoded bytes whose
// identity is changed without decoding them.
//
// The wire is that of go-mod-core-contracts v4.0.3, CBOR and JSON; testdata/vectors.json was written by it. Decoding is
// strict: the size is checked first, all bytes must be consumed, and keys that an Event does not know are kept as
// Extensions.
//
//	e := edgex.NewEvent("Sensor", "pump-1", "pressure")
//	err := e.AddSimple("pressure", edgex.Float64, 1.5)
//	data, err := cbor.Codec{}.Marshal(e)
package edgex
