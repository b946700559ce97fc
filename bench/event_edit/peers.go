package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
	"github.com/tidwall/sjson"
	"github.com/ugorji/go/codec"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/bench/internal/harness"
)

func peers() []contender {
	return []contender{
		library("fxamacker", harness.Version("github.com/fxamacker/cbor/v2"), inCBOR, cbor.Unmarshal, cbor.Marshal),
		library("ugorji", harness.Version("github.com/ugorji/go/codec"), inCBOR, ugorjiDecode, ugorjiEncode),
		ugorjiZeroCopy(),
		library("encoding/json", runtime.Version(), inJSON, json.Unmarshal, json.Marshal),
		library("sonic", harness.Version("github.com/bytedance/sonic"), inJSON, sonic.Unmarshal, sonic.Marshal),
		{
			name: "sjson.SetBytes", kind: harness.Peer, version: harness.Version("github.com/tidwall/sjson"), in: inJSON, ids: otherLength, without: []string{absent},
			tools: func(int) tools {
				out := make(message, 1)
				return tools{edit: func(doc []byte, id *identity) (message, error) {
					var err error
					out[0], err = sjson.SetBytes(doc, "id", id.text)
					return out, err
				}}
			},
		},
	}
}

// library returns a row that decodes the event to a struct, changes the struct, and encodes it again.
func library(name, version string, in encoding, unmarshal func([]byte, any) error, marshal func(any) ([]byte, error)) contender {
	return contender{
		name: name, kind: harness.Peer, version: version, in: in, ids: otherLength, without: []string{absent},
		tools: func(int) tools { return viaStruct(unmarshal, marshal) },
	}
}

func viaStruct(unmarshal func([]byte, any) error, marshal func(any) ([]byte, error)) tools {
	out := make(message, 1)
	return tools{
		edit: func(doc []byte, id *identity) (message, error) {
			e := new(events.Event)
			if err := unmarshal(doc, e); err != nil {
				return nil, err
			}
			e.ID = id.text
			var err error
			out[0], err = marshal(e)
			return out, err
		},
		decode: func(doc []byte) (any, error) {
			e := new(events.Event)
			return e, unmarshal(doc, e)
		},
		encode: marshal,
	}
}

// ugorji creates a new decoder and encoder for each event, as the seed's program did.
var ugorjiHandle = new(codec.CborHandle)

func ugorjiDecode(doc []byte, v any) error {
	d := codec.NewDecoderBytes(doc, ugorjiHandle)
	if err := d.Decode(v); err != nil {
		return err
	}
	return consumed(d, doc)
}

func ugorjiEncode(v any) (out []byte, err error) {
	err = codec.NewEncoderBytes(&out, ugorjiHandle).Encode(v)
	return out, err
}

// consumed returns an error if the decoder has not read all bytes of the event. The other libraries check this themselves. The
// seed's benchmark did not check it, and never read most of the event.
func consumed(d *codec.Decoder, doc []byte) error {
	if n := d.NumBytesRead(); n != len(doc) {
		return fmt.Errorf("%d of %d bytes read", n, len(doc))
	}
	return nil
}

// ugorjiZeroCopy reuses decoder, encoder and buffer; texts and the payload are slices of the encoded event. It is the fastest
// way to decode a whole event.
func ugorjiZeroCopy() contender {
	return contender{
		name: ugorjiZero, kind: harness.Peer, version: harness.Version("github.com/ugorji/go/codec"), in: inCBOR, ids: otherLength, without: []string{absent},
		tools: func(size int) tools {
			h := new(codec.CborHandle)
			h.ZeroCopy = true
			d := codec.NewDecoderBytes(nil, h)
			out := make([]byte, 0, size)
			e := codec.NewEncoderBytes(&out, h)
			return viaStruct(func(doc []byte, v any) error {
				d.ResetBytes(doc)
				if err := d.Decode(v); err != nil {
					return err
				}
				return consumed(d, doc)
			}, func(v any) ([]byte, error) {
				out = out[:0]
				e.ResetBytes(&out)
				err := e.Encode(v)
				return out, err
			})
		},
	}
}
