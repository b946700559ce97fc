// Package transcode translates an encoded message into another format: JSON, CBOR, BSON, MessagePack, Protocol Buffers, or a
// dialect of Y3.
//
// It walks the source and writes the target directly, without Go values in between. Keys keep their order, integers of any size
// stay integers, floats stay floats. If the target has no equivalent of a value, it gets the nearest one and a note (bytes become
// base64 text in JSON), or the result is an error that names the field. With a schema each value has its declared type, so a
// round trip loses nothing; protobuf needs a schema. Y3 has no types on the wire: without a schema its JSON is a tree of hex keys
// and hex bytes, and only such a tree becomes Y3.
//
//	out, notes, err := transcode.MessageAs(nil, reading, y3.Format{}, json.Format{}, noise)
package transcode
