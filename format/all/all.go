package all

import (
	"example.com/ferry/format"
	"example.com/ferry/format/bson"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/y3"
)

// Formats returns each format once, the most common ones first.
func Formats() []format.Format {
	return []format.Format{
		cbor.Format{},
		json.Format{},
		y3.Format{Dialect: y3.P},
		y3.Format{Dialect: y3.N},
		bson.Format{},
		msgpack.Format{},
		protobuf.Format{},
	}
}
