// Package mediatype maps media types to the types of payloads.
//
//	mediatype.Type("application/json; charset=utf-8") // ferry.JSON, true
package mediatype

import (
	"strings"

	"example.com/ferry"
)

// types are the types of payloads by media type.
var types = map[string]ferry.Type{
	"application/json": ferry.JSON, "application/cbor": ferry.CBOR, "application/msgpack": ferry.MsgPack,
	"application/vnd.msgpack": ferry.MsgPack, "application/x-msgpack": ferry.MsgPack, "application/protobuf": ferry.Protobuf,
	"application/x-protobuf": ferry.Protobuf, "application/bson": ferry.BSON, "application/vnd.ferry.y3": ferry.Y3,
	"application/vnd.ferry.y3n": ferry.Y3N, "application/octet-stream": ferry.Raw, "text/plain": ferry.Raw,
}

// Base returns a media type in lower case, without parameters.
func Base(field string) string {
	base, _, _ := strings.Cut(field, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

// Type returns the type of payloads of a media type, which may have parameters. known is false for a media type that ferry does not
// know.
func Type(field string) (t ferry.Type, known bool) {
	t, known = types[Base(field)]
	return t, known
}
