// Package schema gives names and types to fields that the bytes identify by numbers: Y3 keys and protobuf field
// numbers.
//
// A Message is the shape of one message. It comes from a hint file, which is JSON (see Parse), or from a protobuf
// descriptor set. Message.Path turns a path with names into the path with numbers that the bytes have. It also returns
// the type of the value. Field.Child returns the name and type of each value that a walk reports.
//
//	m, err := schema.Parse(hints)
//	p, as, err := m.Path(field.MustParse("noise.level"), schema.Hex)
//	span, err := y3.Format{}.Lookup(message, p)
//	v, err := y3.Format{}.Value(message, span, as)
package schema
