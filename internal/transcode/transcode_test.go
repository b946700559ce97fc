package transcode_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/y3"
	"example.com/ferry/internal/transcode"
)

var y3n = y3.Format{Dialect: y3.N}

// unhex decodes s, which is hex with spaces.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pairs are messages in CBOR and JSON, with the notes of the translation from CBOR to JSON. RFC 8949, appendix A.
var pairs = []struct {
	name  string
	cbor  string
	json  string
	notes []string
	back  string // CBOR after the way back, if it differs from the original
}{
	{name: "zero", cbor: "00", json: "0"},
	{name: "23", cbor: "17", json: "23"},
	{name: "24", cbor: "1818", json: "24"},
	{name: "1000000", cbor: "1a000f4240", json: "1000000"},
	{name: "largest uint64", cbor: "1bffffffffffffffff", json: "18446744073709551615"},
	{name: "bignum", cbor: "c249010000000000000000", json: "18446744073709551616"},
	{name: "-1", cbor: "20", json: "-1"},
	{name: "-1000", cbor: "3903e7", json: "-1000"},
	{name: "least int64", cbor: "3b7fffffffffffffff", json: "-9223372036854775808"},
	{name: "least integer with a head", cbor: "3bffffffffffffffff", json: "-18446744073709551616"},
	{name: "negative bignum", cbor: "c349010000000000000000", json: "-18446744073709551617"},
	{name: "a bignum that needs none", cbor: "c2420100", json: "256", back: "190100"},
	{name: "float64", cbor: "fb3ff199999999999a", json: "1.1"},
	{name: "float without fraction", cbor: "fb3ff0000000000000", json: "1.0"},
	{name: "negative zero", cbor: "fb8000000000000000", json: "-0.0"},
	{name: "large float", cbor: "fb7e37e43c8800759c", json: "1e+300"},
	{name: "float below 1e21", cbor: "fb4415af1d78b58c40", json: "100000000000000000000.0"},
	{name: "small float", cbor: "fb3e7ad7f29abcaf48", json: "1e-07"},
	{name: "float32", cbor: "fa47c35000", json: "100000.0", back: "fb40f86a0000000000"},
	{name: "float16", cbor: "f9c400", json: "-4.0", back: "fbc010000000000000"},
	{name: "float16, denormal", cbor: "f90001", json: "5.960464477539063e-08", back: "fb3e70000000000000"},
	{name: "false", cbor: "f4", json: "false"},
	{name: "true", cbor: "f5", json: "true"},
	{name: "null", cbor: "f6", json: "null"},
	{name: "undefined", cbor: "f7", json: "null", notes: []string{"undefined became null"}, back: "f6"},
	{name: "empty text", cbor: "60", json: `""`},
	{name: "quotes", cbor: "62225c", json: `"\"\\"`},
	{name: "control characters", cbor: "68 00 0a 09 1f 7f c285 41", json: `"\u0000\n\t\u001f\u007f\u0085A"`},
	{name: "beyond the basic plane", cbor: "64f0908591", json: `"𐅑"`},
	{name: "text in chunks", cbor: "7f657374726561646d696e67ff", json: `"streaming"`, back: "6973747265616d696e67"},
	{name: "bytes", cbor: "4401020304", json: `"AQIDBA=="`, notes: []string{"bytes became base64 text"}, back: "6841514944 42413d3d"},
	{name: "bytes in chunks", cbor: "5f42010243030405ff", json: `"AQIDBAU="`, notes: []string{"bytes became base64 text"}, back: "6841514944424155 3d"},
	{name: "empty list", cbor: "80", json: "[]"},
	{name: "list", cbor: "8301820203820405", json: "[1,[2,3],[4,5]]"},
	{name: "long list", cbor: "98190102030405060708090a0b0c0d0e0f101112131415161718181819", json: "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]"},
	{name: "indefinite list", cbor: "9f018202039f0405ffff", json: "[1,[2,3],[4,5]]", back: "8301820203820405"},
	{name: "empty map", cbor: "a0", json: "{}"},
	{name: "order of keys", cbor: "a3 617a 01 6161 02 616d a1 6162 80", json: `{"z":1,"a":2,"m":{"b":[]}}`},
	{name: "empty key", cbor: "a1 60 01", json: `{"":1}`},
	{name: "dots in keys", cbor: "a1 63612e62 01", json: `{"a.b":1}`},
	{name: "indefinite map", cbor: "bf61610161629f0203ffff", json: `{"a":1,"b":[2,3]}`, back: "a26161016162820203"},
	{name: "integer keys", cbor: "a201022203", json: `{"1":2,"-3":3}`, notes: []string{"integer keys became text"}, back: "a2613102622d3303"},
	{name: "date", cbor: "c11a514b67b0", json: "1363896240", notes: []string{"tag 1 was dropped"}, back: "1a514b67b0"},
	{name: "two tags", cbor: "d9d9f7 d820 6161", json: `"a"`, notes: []string{"tag 55799 was dropped", "tag 32 was dropped"}, back: "6161"},
}

func TestCBORToJSON(t *testing.T) {
	t.Parallel()
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			got, notes, err := transcode.Message([]byte("before "), unhex(t, p.cbor), cbor.Format{}, json.Format{})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != "before "+p.json || fmt.Sprint(notes) != fmt.Sprint(transcode.Notes(p.notes)) {
				t.Errorf("got %s with notes %v, want before %s with notes %v", got, notes, p.json, p.notes)
			}
		})
	}
}

func TestJSONToCBOR(t *testing.T) {
	t.Parallel()
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			got, notes, err := transcode.Message(nil, []byte(p.json), json.Format{}, cbor.Format{})
			if err != nil {
				t.Fatal(err)
			}
			want := p.cbor
			if p.back != "" {
				want = p.back
			}
			if !bytes.Equal(got, unhex(t, want)) || notes != nil {
				t.Errorf("got %x with notes %v, want %s", got, notes, want)
			}
		})
	}
}

// TestDialects converts what has the same bytes in both dialects of Y3, whatever its type: with that, nothing but integers differs.
func TestDialects(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"small integers, bools and nodes": "\x81\x06\x10\x01\x00\x11\x01\x3f",
		"an empty value":                  "\x10\x00",
		"an empty node":                   "\x81\x00",
	} {
		for _, to := range []y3.Format{{}, y3n} {
			from := y3.Format{Dialect: y3.P + y3.N - to.Dialect}
			if got, notes, err := transcode.Message(nil, []byte(data), from, to); err != nil || notes != nil || string(got) != data {
				t.Errorf("%s to %s: got % x, %v, %v", name, to.Name(), got, notes, err)
			}
		}
	}
	text := "\x10\x05CELLA\x11\x03\x44\x80\x30" // no integers of y3: the first byte says that it is the last one
	if got, _, err := transcode.Message(nil, []byte(text), y3.Format{}, y3n); err != nil || string(got) != text {
		t.Errorf("got % x, %v, want the same", got, err)
	}
	long := "\x10\x09nine byte" // no integer of y3n: it is longer than 8 bytes
	if got, _, err := transcode.Message(nil, []byte(long), y3n, y3.Format{}); err != nil || string(got) != long {
		t.Errorf("got % x, %v, want the same", got, err)
	}
}

func TestJSONNumbers(t *testing.T) {
	t.Parallel()
	const rounded = "[numbers with more digits than a float64 holds were rounded to it]"
	for _, c := range []struct{ json, cbor, notes string }{
		{"-0", "fb8000000000000000", "[]"},
		{"1E2", "fb4059000000000000", "[]"},
		{"0.10", "fb3fb999999999999a", "[]"},
		{"0.30000000000000004", "fb3fd3333333333334", "[]"},
		{"9007199254740993.0", "fb4340000000000000", rounded},
		{"0.1000000000000000055", "fb3fb999999999999a", rounded},
		{"1e-400", "fb0000000000000000", rounded},
		{"0e5", "fb0000000000000000", "[]"},
	} {
		got, notes, err := transcode.Message(nil, []byte(c.json), json.Format{}, cbor.Format{})
		if err != nil || hex.EncodeToString(got) != c.cbor || fmt.Sprint(notes) != c.notes {
			t.Errorf("%s: got %x, %v, %v, want %s, %s", c.json, got, notes, err, c.cbor, c.notes)
		}
	}
}

func TestY3Tree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, y3, json string }{
		{"primitive", "0a 01 7f", `{"0x0a":"7f"}`},
		{"empty value", "0a 00", `{"0x0a":""}`},
		{"empty node", "81 00", `{"0x01":{}}`},
		{"several packets", "01 01 05 82 0b 03 05 43 45 4c 4c 41 04 02 59 33", `{"0x01":"05","0x02":{"0x03":"43454c4c41","0x04":"5933"}}`},
		{"slice", "d0 0a 00 01 01 00 01 02 00 02 ff 3f", `{"0x10":["01","02","ff3f"]}`},
		{"empty slice", "d0 00", `{"0x10":[]}`},
		{"slice of nodes", "d0 08 80 02 11 00 80 02 11 00", `{"0x10":[{"0x11":""},{"0x11":""}]}`},
		{"value of 64 bytes", "0a 80 40" + strings.Repeat("61", 64), `{"0x0a":"` + strings.Repeat("61", 64) + `"}`},
		{"value of 8192 bytes", "0a 80 c0 00" + strings.Repeat("61", 8192), `{"0x0a":"` + strings.Repeat("61", 8192) + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			message := unhex(t, c.y3)
			text, notes, err := transcode.Message(nil, message, y3.Format{}, json.Format{})
			if err != nil || string(text) != c.json || notes != nil {
				t.Errorf("to JSON: got %s, %v, %v, want %s", text, notes, err, c.json)
			}
			back, _, err := transcode.Message(nil, []byte(c.json), json.Format{}, y3.Format{})
			if err != nil || !bytes.Equal(back, message) {
				t.Errorf("from JSON: got %x, %v, want %x", back, err, message)
			}
			packed, _, err := transcode.Message(nil, message, y3.Format{}, cbor.Format{})
			if err != nil {
				t.Fatal(err)
			}
			if back, _, err = transcode.Message(nil, packed, cbor.Format{}, y3.Format{}); err != nil || !bytes.Equal(back, message) {
				t.Errorf("by way of CBOR: got %x, %v, want %x", back, err, message)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20)
	for _, c := range []struct {
		name     string
		from, to format.Format
		data     string
		want     string
	}{
		{"NaN", cbor.Format{}, json.Format{}, "\xa1\x61a\x81\xf9\x7e\x00", "a.0: transcode: json has no number for NaN"},
		{"infinity", cbor.Format{}, json.Format{}, "\xf9\xfc\x00", "transcode: json has no number for -Inf"},
		{"simple value", cbor.Format{}, json.Format{}, "\x81\xf0", "0: transcode: simple value 16"},
		{"bytes as key", cbor.Format{}, json.Format{}, "\xa1\x41a\x01", "the map key at offset 1 is neither text nor an integer"},
		{"huge bignum", cbor.Format{}, json.Format{}, "\xc2\x59\x08\x00" + strings.Repeat("\xff", 2048), "an integer of 2048 bytes: at most 4096 digits"},
		{"number beyond float64", json.Format{}, cbor.Format{}, `{"a":{"b":[0,1e400]}}`, "a.b.1: transcode: 1e400 exceeds the range of a float64"},
		{"integer without end", json.Format{}, cbor.Format{}, strings.Repeat("9", 5000), "an integer of 5000 digits: at most 4096"},
		{"number in y3", json.Format{}, y3.Format{}, `{"0x01":{"0x10":5}}`, "0x01.0x10: transcode: integer has no one form in y3, which carries no types"},
		{"text in y3", json.Format{}, y3.Format{}, `{"0x01":"pump"}`, `0x01: transcode: "pump" is not hex`},
		{"name in y3", json.Format{}, y3.Format{}, `{"id":"00"}`, `id: transcode: "id" is no y3 key: want 0x00 to 0x3f`},
		{"key out of range", json.Format{}, y3.Format{}, `{"0x40":"00"}`, `"0x40" is no y3 key`},
		{"key without 0x", json.Format{}, y3.Format{}, `{"10":"00"}`, `"10" is no y3 key`},
		{"y3 key twice", json.Format{}, y3.Format{}, `{"0x01":"00","0x1":"00"}`, "a second time"},
		{"list as y3 message", json.Format{}, y3.Format{}, `["00"]`, "a list is no y3 message"},
		{"scalar as y3 message", json.Format{}, y3.Format{}, `"00"`, "a single value is no y3 message"},
		{"node that reads as a list", json.Format{}, y3.Format{}, `{"0x01":{"0x00":"01","0x11":"02"}}`, "a y3 node that starts with key 0x00 is a list"},
		{"list in y3n", json.Format{}, y3n, `{"0x01":["00"]}`, "0x01: transcode: y3n has no lists"},
		{"an integer, perhaps, to the other dialect", y3.Format{}, y3n, "\x81\x04\x10\x02\x81\x00", "0x01.0x10: transcode: if this value is an integer, y3n writes it differently: give it a type in a schema"},
		{"-1, perhaps, to the other dialect", y3.Format{}, y3n, "\x10\x01\x7f", "0x10: transcode: if this value is an integer"},
		{"text, perhaps, from the other dialect", y3n, y3.Format{}, "\x10\x02ok", "0x10: transcode: if this value is an integer, y3 writes it differently"},
		{"list to the other dialect", y3.Format{}, y3n, "\xd0\x03\x00\x01\x01", "0x10: transcode: y3n has no lists"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := transcode.Message([]byte("before"), []byte(c.data), c.from, c.to)
			if err == nil || !strings.Contains(err.Error(), c.want) || string(got) != "before" {
				t.Errorf("got %q, %v, want an error with %q", got, err, c.want)
			}
		})
	}
	if _, _, err := transcode.Message(nil, []byte(deep), json.Format{}, cbor.Format{}); err != nil {
		t.Errorf("20 levels: %v", err)
	}
}

// TestKeysThatBecomeEqual has keys that differ in the source, but are equal in JSON or Y3. The translation must fail.
func TestKeysThatBecomeEqual(t *testing.T) {
	t.Parallel()
	if out, _, err := transcode.Message(nil, []byte("\xa2\x01\x00\x61\x31\x00"), cbor.Format{}, json.Format{}); err == nil {
		t.Errorf(`{1: 0, "1": 0} became %s`, out)
	}
}

func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	list := []byte{0x98, 100}
	for tag := range byte(100) {
		list = append(list, 0xd8, 100+tag, 0x01)
	}
	_, notes, err := transcode.Message(nil, list, cbor.Format{}, json.Format{})
	if err != nil || len(notes) != 16 || notes[0] != "tag 100 was dropped" || notes[15] != "and more" {
		t.Errorf("got %d notes, %v, %v", len(notes), notes, err)
	}
}

func TestFromMsgPack(t *testing.T) {
	for _, row := range []struct {
		name, data string // hex
		to         format.Format
		want       string
		notes      string
		err        string
	}{
		{name: "kinds", data: "84 a161 ccff a162 ca3fc00000 a163 93 c0 c3 ff a16f 80", to: json.Format{}, want: `{"a":255,"b":1.5,"c":[null,true,-1],"o":{}}`},
		{name: "bytes", data: "91 c402 00ff", to: json.Format{}, want: `["AP8="]`, notes: "bytes became base64 text"},
		{name: "integer keys", data: "82 05 01 fb 02", to: json.Format{}, want: `{"5":1,"-5":2}`, notes: "integer keys became text"},
		{name: "to CBOR", data: "82 a161 c402 00ff 05 cfffffffffffffffff", to: cbor.Format{}, want: "\xa2aaB\x00\xffa5\x1b\xff\xff\xff\xff\xff\xff\xff\xff", notes: "integer keys became text"},
		{name: "a timestamp", data: "81 a174 d6ff 5f000000", to: json.Format{}, err: "t: msgpack: cannot use extension"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, notes, err := transcode.Message(nil, unhex(t, row.data), msgpack.Format{}, row.to)
			if row.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), row.err) || got != nil {
					t.Errorf("got %q, %v, want the error %q", got, err, row.err)
				}
				return
			}
			if err != nil || string(got) != row.want || strings.Join(notes, "; ") != row.notes {
				t.Errorf("got %q, %q, %v, want %q, %q", got, notes, err, row.want, row.notes)
			}
		})
	}
}

func TestSameFormat(t *testing.T) {
	t.Parallel()
	text := "{ \"a\" : 1.50 }\n"
	got, notes, err := transcode.Message(nil, []byte(text), json.Format{}, json.Format{})
	if string(got) != text || notes != nil || err != nil {
		t.Errorf("got %q, %v, %v, want it as it was", got, notes, err)
	}
}

func TestJSONOfOneValue(t *testing.T) {
	t.Parallel()
	event := []byte("\xa2\x61a\x01\x61b\x82\x42\xca\xfe\xa1\x61c\xf5")
	for _, c := range []struct{ path, want string }{
		{"", `{"a":1,"b":["cafe",{"c":true}]}`},
		{"a", "1"},
		{"b", `["cafe",{"c":true}]`},
		{"b.0", `"cafe"`},
		{"b.1", `{"c":true}`},
	} {
		for _, f := range []format.Format{cbor.Format{}, json.Format{}} {
			data := event
			if f.Name() == "json" {
				data = []byte(`{ "a" : 1, "b" : [ "cafe", {"c":true} ] }`)
			}
			span, err := f.Lookup(data, field.MustParse(c.path))
			if err != nil {
				t.Fatal(err)
			}
			got, err := transcode.JSON(nil, data, f, span)
			if err != nil || string(got) != c.want {
				t.Errorf("%s of %s: got %s, %v, want %s", c.path, f.Name(), got, err, c.want)
			}
		}
	}
	// Without a schema the message in field 1 is bytes, so no walk reaches the value inside it.
	message := []byte("\x0a\x02\x08\x05")
	span, err := protobuf.Format{}.Lookup(message, field.MustParse("1.1"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := transcode.JSON(nil, message, protobuf.Format{}, span); err != nil || string(got) != `"05"` {
		t.Errorf("1.1 of protobuf: got %s, %v, want 05", got, err)
	}
	span.Kind = field.Map
	if got, err := transcode.JSON([]byte("before"), message, protobuf.Format{}, span); err == nil || string(got) != "before" {
		t.Errorf("a map that is none: got %s, %v, want an error", got, err)
	}
}
