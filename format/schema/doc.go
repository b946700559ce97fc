// Package schema gives names and types to the fields of formats whose bytes carry numbers: Y3 keys and protobuf field
// numbers.
//
// A Message is the shape of one message, read from a hint file or from a protobuf descriptor set. It turns the path a
// person writes into the one that is in the bytes, with the type to read it as, so that no format has to know of names;
// and it tells whoever walks a message the name and type of what is there.
//
//	m, err := schema.Parse(hints)
//	p, as, err := m.Path(field.MustParse("noise.level"), schema.Hex)
//	span, err := y3.Format{}.Lookup(message, p)
//	v, err := y3.Format{}.Value(message, span, as)
package schema
