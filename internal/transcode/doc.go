// Package transcode rewrites one encoded message in another format: JSON, CBOR, and the two dialects of Y3.
//
// It walks the source and writes as it goes, so nothing is decoded into Go values: keys keep their order, integers stay
// integers of any size, floats stay floats. What the other format has no word for is either written in the nearest way
// and noted (bytes in JSON become base64 text), or an error that names the field. Y3 carries no types: as JSON it is a
// tree of hex keys and hex bytes, and only such a tree goes back.
//
//	out, notes, err := transcode.Message(nil, event, cbor.Format{}, json.Format{})
package transcode
