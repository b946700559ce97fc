// Package cbor turns Go values into CBOR and back, with fxamacker/cbor.
//
// Structs are written in field order with definite lengths, as EdgeX does, and with cbor or json struct tags. Decoding is
// strict: the whole input must be one well-formed item without duplicate keys, nested 32 deep at most. Keys match in case.
//
//	data, err := cbor.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package cbor
