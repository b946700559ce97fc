package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"sync"
	"unsafe"

	"github.com/buger/jsonparser"
	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
	"github.com/go-json-experiment/json/jsontext"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/tidwall/gjson"
	"github.com/tinylib/msgp/msgp"
	"github.com/valyala/fastjson"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/encoding/protowire"

	"example.com/ferry/bench/internal/harness"
)

// peer returns a row that uses find. find returns the encoded value, or nil. The row looks several keys up one after the other.
func peer[K any](name, version string, in *encoding, want func(value) []byte, keyOf func(int) K, find func(doc []byte, key K) []byte) contender {
	return contender{name, harness.Peer, version, in, want, func(keys ...int) finder {
		var each []K
		for _, key := range keys {
			each = append(each, keyOf(key))
		}
		key := each[len(each)-1]
		return finder{
			find: func(doc []byte) []byte { return find(doc, key) },
			op:   func(doc []byte) int { return len(find(doc, key)) },
			all: func(doc []byte) int {
				sum := 0
				for _, key := range each {
					sum += len(find(doc, key))
				}
				return sum
			},
		}
	}}
}

func wantJSON(v value) []byte { return []byte(v.json) }
func wantCBOR(v value) []byte { return mustCBOR(v.any) }

// found marks a value that a contender returns as a Go value.
var found = []byte("found")

// Each peer does the least work that its API permits: it stops at the hit if it can.
func peers() []contender {
	return []contender{
		peer("FlatBuffers", harness.Version("github.com/google/flatbuffers"), &inFlatTable, contentFlat, func(key int) int { return key }, findFlat),
		peer("protowire", harness.Version("google.golang.org/protobuf"), &inProtobuf, contentProtobuf, func(key int) protowire.Number { return protowire.Number(key) }, findProtowire),
		peer("fxamacker map[string]RawMessage", harness.Version("github.com/fxamacker/cbor/v2"), &inCBOR, wantCBOR, textKey, func(doc []byte, key string) []byte {
			var m map[string]cbor.RawMessage
			if cbor.Unmarshal(doc, &m) != nil {
				return nil
			}
			return m[key]
		}),
		peer("fxamacker map[int]RawMessage", harness.Version("github.com/fxamacker/cbor/v2"), &inIntCBOR, wantCBOR, func(key int) int { return key }, func(doc []byte, key int) []byte {
			var m map[int]cbor.RawMessage
			if cbor.Unmarshal(doc, &m) != nil {
				return nil
			}
			return m[key]
		}),
		peer("msgp.Locate", harness.Version("github.com/tinylib/msgp"), &inMsgpack, rawMsgpack, textKey, func(doc []byte, key string) []byte {
			if v := msgp.Locate(key, doc); len(v) > 0 {
				return v
			}
			return nil
		}),
		peer("bson.Raw", harness.Version("go.mongodb.org/mongo-driver/v2"), &inBSON, rawBSON, textKey, func(doc []byte, key string) []byte {
			v, err := bson.Raw(doc).LookupErr(key)
			if err != nil {
				return nil
			}
			return v.Value
		}),
		peer("gjson", harness.Version("github.com/tidwall/gjson"), &inJSON, wantJSON, textKey, func(doc []byte, key string) []byte {
			r := gjson.GetBytes(doc, key)
			if !r.Exists() {
				return nil
			}
			return doc[r.Index : r.Index+len(r.Raw)]
		}),
		peer("sonic.Get", harness.Version("github.com/bytedance/sonic"), &inJSON, wantJSON, textKey, func(doc []byte, key string) []byte {
			node, err := sonic.Get(doc, key)
			if err != nil {
				return nil
			}
			raw, err := node.Raw()
			if err != nil {
				return nil
			}
			return unsafe.Slice(unsafe.StringData(raw), len(raw)) // no copy: it is only read
		}),
		peer("jsonparser", harness.Version("github.com/buger/jsonparser"), &inJSON, wantJSON, textKey, func(doc []byte, key string) []byte {
			v, kind, end, err := jsonparser.Get(doc, key)
			if err != nil {
				return nil
			}
			if kind == jsonparser.String {
				return doc[end-len(v)-2 : end] // with its quotes
			}
			return v
		}),
		fastjsonRow(),
		jsontextRow(),
		peer("encoding/json map[string]RawMessage", runtime.Version(), &inJSON, wantJSON, textKey, func(doc []byte, key string) []byte {
			var m map[string]json.RawMessage
			if json.Unmarshal(doc, &m) != nil {
				return nil
			}
			return m[key]
		}),
		peer("encoding/json map[string]any", runtime.Version(), &inJSON, nil, textKey, func(doc []byte, key string) []byte {
			var m map[string]any
			if json.Unmarshal(doc, &m) != nil || m[key] == nil {
				return nil
			}
			return found
		}),
	}
}

// findFlat reads the table's list of offsets. It checks nothing.
func findFlat(doc []byte, key int) []byte {
	t := flatbuffers.Table{Bytes: doc, Pos: flatbuffers.GetUOffsetT(doc)}
	at := flatbuffers.UOffsetT(t.Offset(flatbuffers.VOffsetT(4 + 2*(key-1))))
	if at == 0 {
		return nil
	}
	at += t.Pos
	switch valueOf(key).any.(type) { // a program knows the type from its schema
	case string:
		return t.ByteVector(at)
	case int32, float32:
		return doc[at : at+4]
	}
	return doc[at : at+8]
}

// findProtowire goes through the fields with the library's own functions.
func findProtowire(doc []byte, key protowire.Number) []byte {
	for len(doc) > 0 {
		number, kind, n := protowire.ConsumeTag(doc)
		if n < 0 {
			return nil
		}
		doc = doc[n:]
		if n = protowire.ConsumeFieldValue(number, kind, doc); n < 0 {
			return nil
		}
		if number == key {
			if kind == protowire.BytesType {
				text, _ := protowire.ConsumeBytes(doc)
				return text
			}
			return doc[:n]
		}
		doc = doc[n:]
	}
	return nil
}

// rawBSON is a value as bson.Raw gives it: text with its length and its zero.
func rawBSON(v value) []byte {
	if text, ok := v.any.(string); ok {
		return append(append([]byte{byte(len(text) + 1), 0, 0, 0}, text...), 0)
	}
	return contentBSON(v)
}

// fastjsonRow parses the whole message with a reused parser.
func fastjsonRow() contender {
	return peer("fastjson", harness.Version("github.com/valyala/fastjson"), &inJSON, nil, textKey, func(doc []byte, key string) []byte {
		p := fastjsonParsers.Get()
		defer fastjsonParsers.Put(p)
		v, err := p.ParseBytes(doc)
		if err != nil || !v.Exists(key) {
			return nil
		}
		return found
	})
}

var fastjsonParsers fastjson.ParserPool

// jsontextRow reads tokens up to the key with a reused decoder.
func jsontextRow() contender {
	return peer("jsontext", harness.Version("github.com/go-json-experiment/json"), &inJSON, wantJSON, textKey, func(doc []byte, key string) []byte {
		s := jsontextReaders.Get().(*jsontextReader)
		defer jsontextReaders.Put(s)
		return s.find(doc, key)
	})
}

type jsontextReader struct {
	bytes   bytes.Buffer // of which the decoder reads the content without a copy
	decoder *jsontext.Decoder
}

var jsontextReaders = sync.Pool{New: func() any { return &jsontextReader{decoder: new(jsontext.Decoder)} }}

func (s *jsontextReader) find(doc []byte, key string) []byte {
	s.bytes = *bytes.NewBuffer(doc)
	s.decoder.Reset(&s.bytes)
	if _, err := s.decoder.ReadToken(); err != nil {
		return nil
	}
	for s.decoder.PeekKind() == '"' {
		name, err := s.decoder.ReadValue()
		if err != nil {
			return nil
		}
		if string(name[1:len(name)-1]) == key {
			at := s.decoder.InputOffset() + 1 // after the colon
			v, err := s.decoder.ReadValue()
			if err != nil {
				return nil
			}
			return doc[at : int(at)+len(v)]
		}
		if s.decoder.SkipValue() != nil {
			return nil
		}
	}
	return nil
}
