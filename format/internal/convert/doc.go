// Package convert converts scalars between types without loss.
//
// Formats with types on the wire share it. Read implements the cast in a path expression. Replace converts a patch's value
// to the kind of the old one. Insert checks a new value.
//
//	v, err := convert.Read("cbor", field.Value{Kind: field.Int, Int: 300}, field.Float64) // Float: 300
package convert
