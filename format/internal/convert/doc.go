// Package convert converts scalars between types without loss, except that a cast to a float type rounds.
//
// Formats with types on the wire share this package. Read implements casts such as int32(path) in a predicate. Replace
// converts a new value to the kind of the old value. Insert checks a new value.
//
//	v, err := convert.Read("cbor", field.Value{Kind: field.Int, Int: 300}, field.Float64) // Float: 300
package convert
