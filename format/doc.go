// Package format is the contract of a wire format whose messages can be read, tested and changed without decoding.
//
// Each folder below is one format. A Format finds fields in encoded bytes and returns a field.Span into the caller's
// bytes. It copies nothing, allocates nothing, and decodes only the requested value.
//
//	span, err := cbor.Format{}.Lookup(event, field.MustParse("readings.0.value"))
//	fmt.Printf("%s\n", event[span.Off:span.End])
//
// A change is planned in an Edit and applied where the message goes: into memory, in place, or as parts that net.Buffers
// sends without a copy of the message.
//
//	var e format.Edit
//	err := cbor.Format{}.Insert(&e, event, field.MustParse("tags.site"), field.Value{Kind: field.Text, Bytes: []byte("north")})
//	parts := net.Buffers(e.Buffers(nil))
//	_, err = parts.WriteTo(conn)
package format
