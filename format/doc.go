// Package format is the interface of wire formats whose messages can be read, tested and changed without decoding them.
//
// Each folder below format is one wire format. A Format finds fields in encoded bytes and returns a field.Span of the
// caller's bytes. Finding a field copies nothing and allocates nothing. Only the requested value is decoded.
//
//	span, err := cbor.Format{}.Lookup(event, field.MustParse("readings.0.value"))
//	fmt.Printf("%s\n", event[span.Off:span.End])
//
// A change is first planned in an Edit. The Edit then writes the changed message into memory, changes the message in
// place, or returns parts that net.Buffers sends without a copy of the message.
//
//	var e format.Edit
//	err := cbor.Format{}.Insert(&e, event, field.MustParse("tags.site"), field.Value{Kind: field.Text, Bytes: []byte("north")})
//	parts := net.Buffers(e.Buffers(nil))
//	_, err = parts.WriteTo(conn)
package format

// Files: the contract (format.go), Matcher, formattest, and y3, cbor, json, bson, msgpack, protobuf: Lookup, Find, Validate,
// Walk, Patch, Insert, Delete on encoded bytes. internal/incremental is the search in a message that arrives in pieces.
// format/all is the list, format/schema has names and types for the numbers of Y3 and protobuf.
