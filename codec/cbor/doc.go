// Package cbor converts between Go values and CBOR, with fxamacker/cbor.
//
// A struct is written in field order with a definite length, as EdgeX does. Keys come from cbor or json struct tags.
// Decoding is strict: the whole input must be one well-formed item, without duplicate keys, nested at most 32 levels
// deep. Decoding matches keys by case.
//
//	data, err := cbor.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package cbor
