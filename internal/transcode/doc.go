// Package transcode rewrites one encoded message in another format: JSON, CBOR, BSON, MessagePack, Protocol Buffers, and
// the two dialects of Y3.
//
// It walks the source and writes as it goes, so nothing is decoded into Go values: keys keep their order, integers stay
// integers of any size, floats stay floats. What the other format has no word for is either written in the nearest way
// and noted (bytes in JSON become base64 text), or an error that names the field. With a schema each value takes the type
// that it has there, so nothing is lost on the way there and back; protobuf needs one. Y3 carries no types: without a
// schema it is a tree of hex keys and hex bytes as JSON, and only such a tree goes back.
//
//	out, notes, err := transcode.MessageAs(nil, reading, y3.Format{}, json.Format{}, noise)
package transcode
