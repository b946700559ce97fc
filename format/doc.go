// Package format is the contract of a wire format that can be read, tested and changed without being decoded.
//
// Each folder below is one format. A Format finds fields in encoded bytes, and what it finds is a field.Span into the
// caller's bytes: nothing is copied, nothing is allocated, nothing is decoded that was not asked for.
//
//	span, err := cbor.Format{}.Lookup(event, field.MustParse("readings.0.value"))
//	fmt.Printf("%s\n", event[span.Off:span.End])
//
// A change is planned in an Edit, and then carried out where the message goes: into memory, in place, or as parts that
// net.Buffers sends without copying the message.
//
//	var e format.Edit
//	err := cbor.Format{}.Insert(&e, event, field.MustParse("tags.site"), field.Value{Kind: field.Text, Bytes: []byte("north")})
//	parts := net.Buffers(e.Buffers(nil))
//	_, err = parts.WriteTo(conn)
package format
