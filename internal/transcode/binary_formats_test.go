package transcode_test

import (
	"strings"
	"testing"

	"example.com/ferry/format"
	"example.com/ferry/format/bson"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/internal/transcode"
)

func TestToMsgPack(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 300)
	for _, row := range []struct {
		name, json string
		want       string
		notes      string
	}{
		{name: "kinds", json: `{"a":null,"b":true,"c":[false,"x"]}`, want: "\x83\xa1a\xc0\xa1b\xc3\xa1c\x92\xc2\xa1x"},
		{name: "integers", json: "[0,127,128,255,256,65536,4294967296,18446744073709551615]", want: "\x98\x00\x7f\xcc\x80\xcc\xff\xcd\x01\x00\xce\x00\x01\x00\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xcf\xff\xff\xff\xff\xff\xff\xff\xff"},
		{name: "negative integers", json: "[-1,-32,-33,-128,-129,-32769,-2147483649]", want: "\x97\xff\xe0\xd0\xdf\xd0\x80\xd1\xff\x7f\xd2\xff\xff\x7f\xff\xd3\xff\xff\xff\xff\x7f\xff\xff\xff"},
		{name: "floats", json: "[1.5,-0]", want: "\x92\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00\xcb\x80\x00\x00\x00\x00\x00\x00\x00"},
		{name: "more digits than a float64 has", json: "0.1000000000000000055", want: "\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", notes: "numbers with more digits than a float64 holds were rounded to it"},
		{name: "text of 31 bytes", json: `"` + long[:31] + `"`, want: "\xbf" + long[:31]},
		{name: "text of 32 bytes", json: `"` + long[:32] + `"`, want: "\xd9\x20" + long[:32]},
		{name: "text of 300 bytes", json: `"` + long + `"`, want: "\xda\x01\x2c" + long},
		{name: "list of 16", json: "[" + strings.Repeat("1,", 15) + "1]", want: "\xdc\x00\x10" + strings.Repeat("\x01", 16)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, notes, err := transcode.Message(nil, []byte(row.json), json.Format{}, msgpack.Format{})
			if err != nil || string(got) != row.want || strings.Join(notes, "; ") != row.notes {
				t.Errorf("got %q, %q, %v, want %q, %q", got, notes, err, row.want, row.notes)
			}
		})
	}
}

// TestFloat32 translates a float32 between binary formats. The result must be a float32 again.
func TestFloat32(t *testing.T) {
	t.Parallel()
	const inCBOR, inMsgPack = "\xfa\x3f\xc0\x00\x00", "\xca\x3f\xc0\x00\x00"
	if got, notes, err := transcode.Message(nil, []byte(inCBOR), cbor.Format{}, msgpack.Format{}); err != nil || notes != nil || string(got) != inMsgPack {
		t.Errorf("of CBOR: got %q, %v, %v", got, notes, err)
	}
	if got, notes, err := transcode.Message(nil, []byte(inMsgPack), msgpack.Format{}, cbor.Format{}); err != nil || notes != nil || string(got) != inCBOR {
		t.Errorf("of MessagePack: got %q, %v, %v", got, notes, err)
	}
}

// bsonOf returns a BSON document with these elements.
func bsonOf(elements string) string {
	return string([]byte{byte(len(elements) + 5), 0, 0, 0}) + elements + "\x00"
}

func TestBSON(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, bson, json string
		notes            string
		oneWay           bool // true if the JSON does not become the same BSON again
	}{
		{name: "empty", bson: bsonOf(""), json: "{}"},
		{name: "text", bson: bsonOf("\x02a\x00\x02\x00\x00\x00x\x00"), json: `{"a":"x"}`},
		{name: "int32", bson: bsonOf("\x10a\x00\xfe\xff\xff\xff"), json: `{"a":-2}`},
		{name: "int64", bson: bsonOf("\x12a\x00\x00\x00\x00\x00\x01\x00\x00\x00"), json: `{"a":4294967296}`},
		{name: "int64 that an int32 holds", bson: bsonOf("\x12a\x00\x01\x00\x00\x00\x00\x00\x00\x00"), json: `{"a":1}`, notes: "int64 values that an int32 holds lost their width", oneWay: true},
		{name: "double", bson: bsonOf("\x01a\x00\x00\x00\x00\x00\x00\x00\xf8\x3f"), json: `{"a":1.5}`},
		{name: "bools and null", bson: bsonOf("\x08a\x00\x01\x08b\x00\x00\x0ac\x00"), json: `{"a":true,"b":false,"c":null}`},
		{name: "array", bson: bsonOf("\x04a\x00" + bsonOf("\x100\x00\x01\x00\x00\x00\x0a1\x00")), json: `{"a":[1,null]}`},
		{name: "document", bson: bsonOf("\x03a\x00" + bsonOf("\x08b\x00\x01")), json: `{"a":{"b":true}}`},
		{name: "bytes", bson: bsonOf("\x05a\x00\x02\x00\x00\x00\x00\xff\x00"), json: `{"a":"/wA="}`, notes: "bytes became base64 text", oneWay: true},
		{name: "UUID", bson: bsonOf("\x05a\x00\x10\x00\x00\x00\x04" + strings.Repeat("\xff", 16)), json: `{"a":"/////////////////////w=="}`, notes: "the subtypes of binaries were dropped; bytes became base64 text", oneWay: true},
		{name: "ObjectID", bson: bsonOf("\x07a\x00123456789012"), json: `{"a":"313233343536373839303132"}`, notes: "ObjectIDs became hex text", oneWay: true},
		{name: "datetime", bson: bsonOf("\x09a\x00\x00\x00\x00\x00\x01\x00\x00\x00"), json: `{"a":4294967296}`, notes: "datetimes became milliseconds since 1970", oneWay: true},
		{name: "undefined", bson: bsonOf("\x06a\x00"), json: `{"a":null}`, notes: "undefined became null", oneWay: true},
		{name: "code", bson: bsonOf("\x0da\x00\x02\x00\x00\x00x\x00"), json: `{"a":"x"}`, notes: "code and symbols became text", oneWay: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			text, notes, err := transcode.Message(nil, []byte(row.bson), bson.Format{}, json.Format{})
			if err != nil || string(text) != row.json || strings.Join(notes, "; ") != row.notes {
				t.Errorf("to JSON: got %s, %q, %v, want %s, %q", text, notes, err, row.json, row.notes)
			}
			if row.oneWay {
				return
			}
			back, notes, err := transcode.Message(nil, []byte(row.json), json.Format{}, bson.Format{})
			if err != nil || string(back) != row.bson || notes != nil {
				t.Errorf("from JSON: got %q, %q, %v, want %q", back, notes, err, row.bson)
			}
		})
	}
}

func TestBinaryRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		from, to format.Format
		data     string
		want     string
	}{
		{"decimal128 of BSON", bson.Format{}, json.Format{}, bsonOf("\x13a\x00" + strings.Repeat("\x00", 16)), "a: transcode: a decimal128 has no form outside of bson"},
		{"regular expression of BSON", bson.Format{}, json.Format{}, bsonOf("\x0ba\x00x\x00\x00"), "a: transcode: a regular expression has"},
		{"list to BSON", json.Format{}, bson.Format{}, "[]", "transcode: a list is no bson message"},
		{"scalar to BSON", json.Format{}, bson.Format{}, "1", "transcode: a single value is no bson message"},
		{"2^63 to BSON", json.Format{}, bson.Format{}, `{"a":9223372036854775808}`, "a: transcode: 9223372036854775808 has no form in bson"},
		{"2^64 to BSON", json.Format{}, bson.Format{}, `{"a":[18446744073709551616]}`, "a.0: transcode: 18446744073709551616 exceeds the range of uint64"},
		{"NUL in a key of BSON", json.Format{}, bson.Format{}, `{"a\u0000b":1}`, "transcode: the key \"a\\x00b\" has a NUL"},
		{"2^64 to MessagePack", json.Format{}, msgpack.Format{}, "[18446744073709551616]", "0: transcode: 18446744073709551616 exceeds the range of uint64"},
		{"below -2^63 to MessagePack", json.Format{}, msgpack.Format{}, "-9223372036854775809", "transcode: -9223372036854775809 exceeds the range of int64"},
		{"from protobuf without a schema", protobuf.Format{}, json.Format{}, "\x08\x01", "transcode: protobuf carries numbers for names and no types: it takes a schema"},
		{"to protobuf without a schema", json.Format{}, protobuf.Format{}, "{}", "it takes a schema"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := transcode.Message(nil, []byte(row.data), row.from, row.to)
			if err == nil || !strings.Contains(err.Error(), row.want) || got != nil {
				t.Errorf("got %q, %v, want an error with %q", got, err, row.want)
			}
		})
	}
}
