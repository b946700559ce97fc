// Package schema gives names and types to the fields of formats that carry numbers: Y3 keys and protobuf field numbers.
//
// A Message is the shape of one message, read from a hint file or from a protobuf descriptor set. It converts a path with
// names to the path with numbers that the bytes have, and returns the type to read the value as. It also gives the name
// and type of each value in a walk.
//
//	m, err := schema.Parse(hints)
//	p, as, err := m.Path(field.MustParse("noise.level"), schema.Hex)
//	span, err := y3.Format{}.Lookup(message, p)
//	v, err := y3.Format{}.Value(message, span, as)
package schema
