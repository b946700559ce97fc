package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/tinylib/msgp/msgp"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/encoding/protowire"
)

// encoding is one format in which the messages are encoded.
type encoding struct {
	name    string
	encode  func(order []int) []byte
	content func(v value) []byte // what lies in a message for a value, without quotes and lengths
	path    func(key int) string // ferry's
}

var (
	inY3        = encoding{"Y3", encodeY3, func(v value) []byte { return []byte(v.y3) }, pathY3}
	inProtobuf  = encoding{"protobuf", encodeProtobuf, contentProtobuf, func(key int) string { return fmt.Sprint(key) }}
	inCBOR      = encoding{"CBOR", encodeCBOR, contentCBOR, textKey}
	inIntCBOR   = encoding{"CBOR, integer keys", encodeIntCBOR, contentCBOR, func(key int) string { return fmt.Sprint(key) }}
	inMsgpack   = encoding{"MessagePack", encodeMsgpack, contentMsgpack, textKey}
	inBSON      = encoding{"BSON", encodeBSON, contentBSON, textKey}
	inJSON      = encoding{"JSON", encodeJSON, func(v value) []byte { return bytes.Trim([]byte(v.json), `"`) }, textKey}
	inFlatTable = encoding{name: "FlatBuffers", encode: encodeFlat, content: contentFlat}
)

// pathY3 returns the path of a key below the node with key 0. The largest key of Y3 is 0x3f. A message with 63 keys uses all of
// 1 to 63, so its absent key is 0.
func pathY3(key int) string { return fmt.Sprintf("0x00.0x%02x", y3Key(key)) }

func y3Key(key int) byte { return byte(key & 0x3f) }

// encodeY3 writes 80 L {key L value}, as the seed's packets are. A length of 64 or more takes two bytes.
func encodeY3(order []int) []byte {
	var body []byte
	for _, key := range order {
		v := valueOf(key).y3
		body = append(append(body, byte(key), byte(len(v))), v...)
	}
	head := []byte{0x80, byte(len(body))}
	if len(body) >= 64 {
		head = []byte{0x80, 0x80 | byte(len(body)>>7), byte(len(body) & 0x7f)}
	}
	return append(head, body...)
}

func encodeJSON(order []int) []byte {
	var b bytes.Buffer
	for i, key := range order {
		b.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(&b, `"%s":%s`, textKey(key), valueOf(key).json)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func encodeCBOR(order []int) []byte {
	return mapCBOR(order, func(key int) any { return textKey(key) })
}

func encodeIntCBOR(order []int) []byte { return mapCBOR(order, func(key int) any { return key }) }

func mapCBOR(order []int, name func(key int) any) []byte {
	head := []byte{0xa0 | byte(len(order))} // RFC 8949, section 3: fewer than 24 entries
	if len(order) >= 24 {
		head = []byte{0xb8, byte(len(order))}
	}
	for _, key := range order {
		head = append(append(head, mustCBOR(name(key))...), mustCBOR(valueOf(key).any)...)
	}
	return head
}

func contentCBOR(v value) []byte {
	if text, ok := v.any.(string); ok {
		return []byte(text)
	}
	return mustCBOR(v.any)
}

func mustCBOR(v any) []byte {
	b, err := cbor.Marshal(v)
	if err != nil {
		panic(err) // a constant of this program cannot be encoded
	}
	return b
}

// encodeProtobuf writes string, sint32, uint64, float and double fields.
func encodeProtobuf(order []int) (b []byte) {
	for _, key := range order {
		number, v := protowire.Number(key), valueOf(key)
		b = protowire.AppendTag(b, number, wireType(v))
		if _, ok := v.any.(string); ok {
			b = protowire.AppendVarint(b, uint64(len(contentProtobuf(v))))
		}
		b = append(b, contentProtobuf(v)...)
	}
	return b
}

func wireType(v value) protowire.Type {
	switch v.any.(type) {
	case string:
		return protowire.BytesType
	case float32:
		return protowire.Fixed32Type
	case float64:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}

func contentProtobuf(v value) []byte {
	switch v := v.any.(type) {
	case string:
		return []byte(v)
	case int32:
		return protowire.AppendVarint(nil, protowire.EncodeZigZag(int64(v)))
	case uint64:
		return protowire.AppendVarint(nil, v)
	case float32:
		return protowire.AppendFixed32(nil, math.Float32bits(v))
	}
	return protowire.AppendFixed64(nil, math.Float64bits(v.any.(float64)))
}

func encodeMsgpack(order []int) []byte {
	b := msgp.AppendMapHeader(nil, uint32(len(order)))
	for _, key := range order {
		b = append(msgp.AppendString(b, textKey(key)), rawMsgpack(valueOf(key))...)
	}
	return b
}

func rawMsgpack(v value) []byte {
	b, err := msgp.AppendIntf(nil, v.any)
	if err != nil {
		panic(err) // a constant of this program cannot be encoded
	}
	return b
}

func contentMsgpack(v value) []byte {
	if text, ok := v.any.(string); ok {
		return []byte(text)
	}
	return rawMsgpack(v)
}

// encodeBSON writes the largest unsigned integer, which BSON has no type for, as the int64 of the same bits.
func encodeBSON(order []int) []byte {
	at, b := bsoncore.AppendDocumentStart(nil)
	for _, key := range order {
		switch v := valueOf(key).any.(type) {
		case string:
			b = bsoncore.AppendStringElement(b, textKey(key), v)
		case int32:
			b = bsoncore.AppendInt32Element(b, textKey(key), v)
		case uint64:
			b = bsoncore.AppendInt64Element(b, textKey(key), int64(v))
		case float32:
			b = bsoncore.AppendDoubleElement(b, textKey(key), float64(v))
		case float64:
			b = bsoncore.AppendDoubleElement(b, textKey(key), v)
		}
	}
	b, err := bsoncore.AppendDocumentEnd(b, at)
	if err != nil {
		panic(err) // a constant of this program cannot be encoded
	}
	return b
}

func contentBSON(v value) []byte {
	switch v := v.any.(type) {
	case string:
		return []byte(v)
	case int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v))
	case uint64:
		return binary.LittleEndian.AppendUint64(nil, v)
	case float32:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(v)))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.any.(float64)))
}

// encodeFlat writes a table in which key has slot key-1. The order of the keys does not change the table.
func encodeFlat(order []int) []byte {
	b := flatbuffers.NewBuilder(0)
	text := b.CreateString("a")
	b.StartObject(63)
	for _, key := range order {
		switch v := valueOf(key).any.(type) {
		case string:
			b.PrependUOffsetTSlot(key-1, text, 0)
		case int32:
			b.PrependInt32Slot(key-1, v, 0)
		case uint64:
			b.PrependUint64Slot(key-1, v, 0)
		case float32:
			b.PrependFloat32Slot(key-1, v, 0)
		case float64:
			b.PrependFloat64Slot(key-1, v, 0)
		}
	}
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

func contentFlat(v value) []byte {
	switch v := v.any.(type) {
	case string:
		return []byte(v)
	case int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v))
	case uint64:
		return binary.LittleEndian.AppendUint64(nil, v)
	case float32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.any.(float64)))
}
