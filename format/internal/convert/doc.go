// Package convert turns one scalar into another type, where nothing of it is lost.
//
// Formats whose bytes carry types share it: Read is what a cast in a path expression asks for, Replace what a patch does
// to a value so that it takes the kind of the one it replaces, and Insert what a new value is held to.
//
//	v, err := convert.Read("cbor", field.Value{Kind: field.Int, Int: 300}, field.Float64) // Float: 300
package convert
