package transcode_test

import (
	"bytes"
	stdjson "encoding/json"
	"strings"
	"testing"

	"example.com/ferry/format"
	"example.com/ferry/format/bson"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/y3"
	"example.com/ferry/internal/transcode"
)

// FuzzCBOR expects that valid CBOR becomes JSON that encoding/json accepts, or an error. The JSON must survive a round
// trip.
func FuzzCBOR(f *testing.F) {
	for _, p := range pairs {
		f.Add(unhex(f, p.cbor))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, _, err := transcode.Message(nil, data, cbor.Format{}, json.Format{})
		if err != nil {
			return
		}
		if !stdjson.Valid(text) {
			t.Fatalf("% x became %q, which is no JSON", data, text)
		}
		packed, _, err := transcode.Message(nil, text, json.Format{}, cbor.Format{})
		if err != nil {
			t.Fatalf("%s does not go back: %v", text, err)
		}
		again, notes, err := transcode.Message(nil, packed, cbor.Format{}, json.Format{})
		if err != nil || !bytes.Equal(again, text) || notes != nil {
			t.Fatalf("%s became %s, %v, %v", text, again, notes, err)
		}
	})
}

// FuzzY3 expects that a valid Y3 message survives a round trip through JSON. The one difference allowed is that a slice
// without the slice flag gets the flag.
func FuzzY3(f *testing.F) {
	f.Add(unhex(f, "81 16 b0 14 10 01 01 d1 06 00 01 05 00 01 7b 94 03 15 01 01 16 00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if (y3.Format{}).Validate(data, format.Options{}) != nil {
			return
		}
		text, _, err := transcode.Message(nil, data, y3.Format{}, json.Format{})
		if err != nil {
			t.Fatal(err)
		}
		packed, _, err := transcode.Message(nil, text, json.Format{}, y3.Format{})
		if err != nil {
			t.Fatalf("%s does not go back: %v", text, err)
		}
		if len(packed) != len(data) {
			t.Fatalf("% x became % x", data, packed)
		}
		for i := range data {
			if data[i] != packed[i] && data[i]|0x40 != packed[i] {
				t.Fatalf("% x became % x", data, packed)
			}
		}
	})
}

// FuzzAs translates a valid message of each format into each other format, with a schema. The result must be valid, or
// there must be an error. A message that was translated without a note must survive a round trip.
func FuzzAs(f *testing.F) {
	formats := []format.Format{
		cbor.Format{}, json.Format{}, y3.Format{}, y3n, bson.Format{}, msgpack.Format{}, protobuf.Format{Message: noise},
	}
	text := []byte(`{"level":0.1,"mean":"NaN","count":184467440737095516,"delta":-4e0,"raw":"/wA=","unit":"dB","next":{"ok":true}}`)
	for from := range formats {
		data, _, err := transcode.MessageAs(nil, text, json.Format{}, formats[from], noise)
		if err != nil {
			f.Fatal(err)
		}
		for to := range formats {
			f.Add(data, byte(from), byte(to))
		}
	}
	f.Add([]byte("\x11\x040000\x12\x02000\t\x82\xc7ׅ\x8f\xae\x8a\x9e0"), byte(3), byte(2)) // a text of y3n that y3 may read as a number
	f.Fuzz(func(t *testing.T, data []byte, i, j byte) {
		from, to := formats[int(i)%len(formats)], formats[int(j)%len(formats)]
		if from.Validate(data, format.Options{}) != nil {
			return
		}
		there, notes, err := transcode.MessageAs(nil, data, from, to, noise)
		if err != nil || notes != nil {
			return
		}
		back, _, err := transcode.MessageAs(nil, there, to, from, noise)
		if err != nil && strings.HasPrefix(from.Name(), "y3") && strings.HasPrefix(to.Name(), "y3") {
			return // what is a text there may be a number here
		}
		if err != nil {
			t.Fatalf("%s %q became %s %q, which does not go back: %v", from.Name(), data, to.Name(), there, err)
		}
		again, notes, err := transcode.MessageAs(nil, back, from, to, noise)
		if err != nil || notes != nil || !bytes.Equal(again, there) {
			t.Fatalf("%s %q became %s %q, then %q, then %q, %v, %v", from.Name(), data, to.Name(), there, back, again, notes, err)
		}
	})
}
