// Package transcode translates an encoded message into another format: JSON, CBOR, BSON, MessagePack, Protocol Buffers,
// or a dialect of Y3.
//
// It walks the source and writes the target directly, without Go values in between. Keys keep their order. Integers of
// any size stay integers, and floats stay floats. A value without an equivalent in the target becomes the nearest
// value, and the result has a note: bytes become base64 text in JSON. If there is no near value, the result is an error
// that names the field. With a schema each value has its declared type, so a round trip loses nothing. Protobuf needs a
// schema. Y3 has no types on the wire. Without a schema, a Y3 message becomes JSON with hex keys and hex bytes, and
// only such JSON becomes Y3.
//
//	out, notes, err := transcode.MessageAs(nil, reading, y3.Format{}, json.Format{}, noise)
package transcode
