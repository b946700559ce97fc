// Package format is the contract of a wire format that can be read, tested and changed without being decoded.
//
// Each folder below is one format. A Format finds fields in encoded bytes, and what it finds is a field.Span into the
// caller's bytes: nothing is copied, nothing is allocated, nothing is decoded that was not asked for.
//
//	span, err := cbor.Format{}.Lookup(event, field.MustParse("readings.0.value"))
//	fmt.Printf("%s\n", event[span.Off:span.End])
package format
