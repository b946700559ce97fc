package cli

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// eventJSON is an EdgeX event in JSON. event is the same in CBOR, with one more reading, of bytes.
const eventJSON = `{"deviceName":"pump-1","origin":1602168089665565200,"readings":[{"value":"30.5","ok":true,"level":0.10,"tags":null}]}` + "\n"

var event = unhex("a3" +
	text("deviceName") + text("pump-1") +
	text("origin") + "1b163c0b638efb7210" +
	text("readings") + "82" +
	"a4" + text("value") + text("30.5") + text("ok") + "f5" + text("level") + "fb3fb999999999999a" + text("tags") + "f6" +
	"a1" + text("binaryValue") + "44cafe0001")

// noise is 0x01 { 0x10 { 0x11 float32 1.5, 0x12 int64 1600000000, 0x13 "s" } }, as y3-codec-golang writes it.
var noise = unhex("8110900e11023fc0120585faf8a000130173")

// eventBSON is {"deviceName": "pump-1", "readings": [{"value": 30}]}.
const eventBSON = "\x3e\x00\x00\x00\x02deviceName\x00\x07\x00\x00\x00pump-1\x00" +
	"\x04readings\x00\x18\x00\x00\x00\x030\x00\x10\x00\x00\x00\x10value\x00\x1e\x00\x00\x00\x00\x00\x00"

// eventMsgPack is {"deviceName": "pump-1", "readings": [{"value": 30, "raw": bytes}], 5: 1.5}.
const eventMsgPack = "\x83\xaadeviceName\xa6pump-1\xa8readings\x91\x82\xa5value\x1e\xa3raw\xc4\x02\x00\xff\x05\xca\x3f\xc0\x00\x00"

func text(s string) string { return fmt.Sprintf("%02x%x", 0x60+len(s), s) }

func unhex(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestGet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		stdin string
		args  []string
		want  string
	}{
		{"text", event, []string{"readings.0.value"}, "30.5\n"},
		{"text as JSON", event, []string{"-o", "json", "readings.0.value"}, "\"30.5\"\n"},
		{"integer", event, []string{"origin"}, "1602168089665565200\n"},
		{"integer as a float", event, []string{"--as", "float32", "-o", "json", "origin"}, "1.6021681e+18\n"},
		{"float", event, []string{"readings.0.level"}, "0.1\n"},
		{"float of JSON keeps its digits", eventJSON, []string{"readings.0.level"}, "0.10\n"},
		{"bool", event, []string{"readings.0.ok"}, "true\n"},
		{"null", event, []string{"readings.0.tags"}, "null\n"},
		{"bytes", event, []string{"readings.1.binaryValue"}, "cafe0001\n"},
		{"bytes as JSON", event, []string{"-o", "json", "readings.1.binaryValue"}, "\"cafe0001\"\n"},
		{"map", event, []string{"readings.1"}, "{\"binaryValue\":\"cafe0001\"}\n"},
		{"list", eventJSON, []string{"readings"}, `[{"value":"30.5","ok":true,"level":0.10,"tags":null}]` + "\n"},
		{"whole message", "{ \"a\" : [ 1 ] }", []string{""}, "{\"a\":[1]}\n"},
		{"escapes of JSON", `{"a":"x\ty\u00e9"}`, []string{"a"}, "x\tyé\n"},
		{"dot in a name", `{"a.b":7}`, []string{`a\.b`}, "7\n"},
		{"NaN", unhex("a16161f97e00"), []string{"a"}, "NaN\n"},
		{"NaN as JSON, with --as float64", unhex("a16161f97e00"), []string{"--as", "float64", "-o", "json", "a"}, "\"NaN\"\n"},
		{"y3 bytes", noise, []string{"0x01.0x10.0x11"}, "3fc0\n"},
		{"y3 float32", noise, []string{"--as", "float32", "0x01.0x10.0x11"}, "1.5\n"},
		{"y3 int64", noise, []string{"--as", "int64", "0x01.0x10.0x12"}, "1600000000\n"},
		{"y3 string", noise, []string{"--as", "string", "0x01.0x10.0x13"}, "s\n"},
		{"y3 string as JSON", noise, []string{"--as", "string", "-o", "json", "0x01.0x10.0x13"}, "\"s\"\n"},
		{"y3 bytes as such", noise, []string{"--as", "bytes", "0x01.0x10.0x13"}, "73\n"},
		{"y3 node", noise, []string{"0x01.0x10"}, `{"0x11":"3fc0","0x12":"85faf8a000","0x13":"73"}` + "\n"},
		{"y3n integer", "\x0a\x02\x00\x80", []string{"-t", "y3n", "--as", "int32", "0x0a"}, "128\n"},
		{"uint64", unhex("a161611bffffffffffffffff"), []string{"--as", "uint64", "a"}, "18446744073709551615\n"},
		{"text of BSON", eventBSON, []string{"deviceName"}, "pump-1\n"},
		{"integer of BSON", eventBSON, []string{"-t", "bson", "readings.0.value"}, "30\n"},
		{"list of BSON", eventBSON, []string{"-t", "bson", "readings"}, "[{\"value\":30}]\n"},
		{"ObjectID of BSON", "\x16\x00\x00\x00\x07_id\x00123456789012\x00", []string{"-t", "bson", "--as", "bytes", "_id"}, "313233343536373839303132\n"},
		{"text of MessagePack", eventMsgPack, []string{"deviceName"}, "pump-1\n"},
		{"integer of MessagePack", eventMsgPack, []string{"-t", "msgpack", "readings.0.value"}, "30\n"},
		{"bytes of MessagePack", eventMsgPack, []string{"-t", "msgpack", "readings.0.raw"}, "00ff\n"},
		{"protobuf without a schema", "\x0a\x02\x08\x05", []string{"-t", "protobuf", "1.1"}, "05\n"},
		{"protobuf as a type", "\x0a\x02\x08\x05", []string{"-t", "protobuf", "--as", "int32", "1.1"}, "5\n"},
		{"all of protobuf without a schema", "\x0a\x02\x08\x05", []string{"-t", "protobuf", ""}, `{"1":"0805"}` + "\n"},
		{"MessagePack with an integer key", eventMsgPack, []string{"-t", "msgpack", ""}, `{"deviceName":"pump-1","readings":[{"value":30,"raw":"00ff"}],"5":1.5}` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ferryWith(c.stdin, append([]string{"get", "-q"}, c.args...)...)
			if want := (outcome{stdout: c.want}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		stdin string
		args  []string
		want  string
	}{
		{"text of the same length", `{"a":"31"}`, []string{"a=42"}, `{"a":"42"}`},
		{"longer text", `{"a":"31","b":[1]}`, []string{"a=pump \"1\""}, `{"a":"pump \"1\"","b":[1]}`},
		{"empty text", `{"a":"31"}`, []string{"a="}, `{"a":""}`},
		{"value with =", `{"a":"31"}`, []string{"a=b=c"}, `{"a":"b=c"}`},
		{"integer", "{\n  \"a\": 5\n}\n", []string{"a=-18"}, "{\n  \"a\": -18\n}\n"},
		{"largest integer", `{"a":5}`, []string{"a=18446744073709551615"}, `{"a":18446744073709551615}`},
		{"bool", `[true]`, []string{"0=false"}, `[false]`},
		{"null", `[null]`, []string{"0=null"}, `[null]`},
		{"null by a named type", `[null]`, []string{"--as", "int32", "0=7"}, `[7]`},
		{"text of CBOR", event, []string{"deviceName=pump-10"}, strings.Replace(event, "\x66pump-1", "\x67pump-10", 1)},
		{"integer of CBOR", event, []string{"origin=1602168089665565201"}, strings.Replace(event, "\x72\x10", "\x72\x11", 1)},
		{"bytes of CBOR", event, []string{"readings.1.binaryValue=beef"}, strings.Replace(event, "\x44\xca\xfe\x00\x01", "\x42\xbe\xef", 1)},
		{"float of CBOR", event, []string{"readings.0.level=0.5"}, strings.Replace(event, unhex("fb3fb999999999999a"), unhex("fb3fe0000000000000"), 1)},
		{"longer text of BSON", eventBSON, []string{"-t", "bson", "deviceName=pump-10"}, strings.NewReplacer("\x3e", "\x3f", "\x07\x00\x00\x00pump-1", "\x08\x00\x00\x00pump-10").Replace(eventBSON)},
		{"integer of BSON", eventBSON, []string{"-t", "bson", "readings.0.value=-1"}, strings.Replace(eventBSON, "\x1e\x00\x00\x00", "\xff\xff\xff\xff", 1)},
		{"longer text of MessagePack", eventMsgPack, []string{"-t", "msgpack", "deviceName=pump-10"}, strings.Replace(eventMsgPack, "\xa6pump-1", "\xa7pump-10", 1)},
		{"integer of MessagePack", eventMsgPack, []string{"-t", "msgpack", "readings.0.value=-200"}, strings.Replace(eventMsgPack, "\x1e", "\xd1\xff\x38", 1)},
		{"float under an integer key of MessagePack", eventMsgPack, []string{"-t", "msgpack", "5=2.5"}, strings.Replace(eventMsgPack, "\xca\x3f\xc0\x00\x00", "\xcb\x40\x04\x00\x00\x00\x00\x00\x00", 1)},
		{"y3 bytes", noise, []string{"0x01.0x10.0x11=40"}, unhex("810f900d110140120585faf8a000130173")},
		{"y3 float32", noise, []string{"--as", "float32", "0x01.0x10.0x11=2"}, unhex("810f900d110140120585faf8a000130173")},
		{"y3 uint32", "\x0a\x01\x00", []string{"-t", "y3", "--as", "uint32", "0x0a=4294967295"}, "\x0a\x01\x7f"},
		{"y3n int32", "\x0a\x01\x00", []string{"-t", "y3n", "--as", "int32", "0x0a=128"}, "\x0a\x02\x00\x80"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ferryWith(c.stdin, append([]string{"set", "-q"}, c.args...)...)
			if want := (outcome{stdout: c.want}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestConvert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		stdin string
		args  []string
		want  outcome
	}{
		{"json to cbor and its numbers", `{"a":1,"b":1.0}`, []string{"--from", "json", "--to", "cbor"}, outcome{stdout: unhex("a2616101" + "6162fb3ff0000000000000")}},
		{"cbor to json", unhex("a2616101" + "6162fb3ff0000000000000"), []string{"--from", "cbor", "--to", "json"}, outcome{stdout: "{\"a\":1,\"b\":1.0}\n"}},
		{"with a remark", "\x41\xff", []string{"--from", "cbor", "--to", "json"}, outcome{stdout: "\"/w==\"\n", stderr: "ferry: standard input: bytes became base64 text\n"}},
		{"without it", "\x41\xff", []string{"-q", "--from", "cbor", "--to", "json"}, outcome{stdout: "\"/w==\"\n"}},
		{"guessed", noise, []string{"--to", "json"}, outcome{
			stdout: `{"0x01":{"0x10":{"0x11":"3fc0","0x12":"85faf8a000","0x13":"73"}}}` + "\n",
			stderr: "ferry: guessed that standard input is y3\n",
		}},
		{"from MessagePack", eventMsgPack, []string{"--from", "msgpack", "--to", "json"}, outcome{
			stdout: `{"deviceName":"pump-1","readings":[{"value":30,"raw":"AP8="}],"5":1.5}` + "\n",
			stderr: "ferry: standard input: bytes became base64 text\nferry: standard input: integer keys became text\n",
		}},
		{"to MessagePack", `{"a":[1,-1.5]}`, []string{"--from", "json", "--to", "msgpack"}, outcome{stdout: "\x81\xa1a\x92\x01\xcb\xbf\xf8\x00\x00\x00\x00\x00\x00"}},
		{"from BSON, guessed", eventBSON, []string{"--to", "json"}, outcome{
			stdout: `{"deviceName":"pump-1","readings":[{"value":30}]}` + "\n",
			stderr: "ferry: guessed that standard input is bson\n",
		}},
		{"to BSON", `{"deviceName":"pump-1","readings":[{"value":30}]}`, []string{"--from", "json", "--to", "bson"}, outcome{stdout: eventBSON}},
		{"y3 from its tree", `{"0x01":{"0x10":{"0x11":"3fc0","0x12":"85faf8a000","0x13":"73"}}}`, []string{"--from", "json", "--to", "y3"}, outcome{stdout: noise}},
		{"to itself", eventJSON, []string{"--from", "json", "--to", "json"}, outcome{stdout: eventJSON}},
		{"no form", `{"a":"xyz"}`, []string{"--from", "json", "--to", "y3"}, outcome{
			status: statusFailed, stderr: "ferry convert: standard input: a: transcode: \"a\" is no y3 key: want 0x00 to 0x3f, or a schema that has the name\n",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := ferryWith(c.stdin, append([]string{"convert"}, c.args...)...); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestSchema reads and changes Y3 and protobuf by the names and types of a hint file and a descriptor set.
func TestSchema(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		data, err := os.ReadFile("../../../examples/messages/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	pb := read("noise.pb")
	hints := []string{"-q", "--schema", "../../../examples/messages/noise.json"}
	set := []string{"-q", "-t", "protobuf", "--schema", "../../../examples/messages/noise.desc", "--message", "example.Event"}
	for _, c := range []struct {
		name   string
		verb   string
		schema []string
		stdin  string
		args   []string
		want   outcome
	}{
		{"float of Y3", "get", hints, noise, []string{"event.noise.level"}, outcome{stdout: "1.5\n"}},
		{"text of Y3 as JSON", "get", hints, noise, []string{"-o", "json", "event.noise.from"}, outcome{stdout: "\"s\"\n"}},
		{"node of Y3", "get", hints, noise, []string{"event.noise"}, outcome{stdout: `{"level":1.5,"time":1600000000,"from":"s"}` + "\n"}},
		{"keys", "get", hints, noise, []string{"0x01.0x10.level"}, outcome{stdout: "1.5\n"}},
		{"another type", "get", hints, noise, []string{"--as", "bytes", "event.noise.level"}, outcome{stdout: "3fc0\n"}},
		{"float32 in the fewest digits", "get", hints, "\x81\x08\x90\x06\x11\x04\x3d\xcc\xcc\xcd", []string{"event.noise.level"}, outcome{stdout: "0.1\n"}},
		{"names of CBOR", "get", hints, event, []string{"readings.0.value"}, outcome{stdout: "30.5\n"}},
		{"float of protobuf", "get", set, pb, []string{"noise.level"}, outcome{stdout: "1.5\n"}},
		{"zigzag of protobuf", "get", set, pb, []string{"noise.time"}, outcome{stdout: "1600000000\n"}},
		{"list of protobuf", "get", set, pb, []string{"noise.peaks"}, outcome{stdout: "[3,150]\n"}},
		{"numbers of protobuf", "get", set, pb, []string{"1.4.1"}, outcome{stdout: "150\n"}},
		{"unknown name", "get", hints, noise, []string{"event.niose.level"}, outcome{status: statusUsage, stderr: "ferry get: schema: event has no field \"niose\": is it noise?\n"}},
		{"unknown name of protobuf", "get", set, pb, []string{"noise.lvel"}, outcome{status: statusUsage, stderr: "ferry get: schema: noise has no field \"lvel\": is it level?\n"}},
		{"absent", "get", hints, "\x81\x02\x90\x00", []string{"event.noise.level"}, outcome{status: statusNotFound, stderr: "ferry get: field: not found: \"event.noise.level\" in standard input, a y3 message\n"}},
		{"set of Y3", "set", hints, noise, []string{"event.noise.level=2"}, outcome{stdout: unhex("810f900d110140120585faf8a000130173")}},
		{"set of Y3 to what is no number", "set", hints, noise, []string{"event.noise.level=loud"}, outcome{status: statusFailed, stderr: "ferry set: event.noise.level: \"loud\" is not a number, which is what it would replace\n"}},
		{"set of protobuf", "set", set, pb, []string{"noise.time=-1"}, outcome{stdout: strings.NewReplacer("\x0a\x18", "\x0a\x14", "\x10\x80\xc0\xf0\xf5\x0b", "\x10\x01").Replace(pb)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := ferryWith(c.stdin, append(append([]string{c.verb}, c.schema...), c.args...)...); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		name   string
		stdin  string
		args   []string
		status int
		want   string // part of standard error
	}{
		{"no such field", event, []string{"get", "readings.7.value"}, statusNotFound, `not found: "readings.7.value" in standard input, a cbor message`},
		{"no such field to set", eventJSON, []string{"set", "id=1"}, statusNotFound, `not found: "id"`},
		{"empty input", "", []string{"get", "id"}, statusFailed, "standard input is empty"},
		{"no such file", "", []string{"get", "id", filepath.Join(dir, "absent")}, statusFailed, "no such file"},
		{"directory", "", []string{"get", "id", dir}, statusFailed, "is a directory: name a file"},
		{"too large", eventJSON, []string{"get", "--max", "100B", "id"}, statusFailed, "holds more than 100 bytes, the limit: raise it with --max"},
		{"cut short", event[:40], []string{"get", "-t", "cbor", "deviceName"}, statusFailed, "standard input is no valid cbor message: unexpected EOF: the message goes on behind the 40 bytes there are"},
		{"cut short and guessed", event[:40], []string{"get", "deviceName"}, statusFailed, "no message of a type known here:\n  as cbor: unexpected EOF: the message goes on behind the 40 bytes there are\n"},
		{"a list to BSON", "[1]", []string{"convert", "--from", "json", "--to", "bson"}, statusFailed, "a list is no bson message"},
		{"an empty map of MessagePack", "\xde\x00\x00", []string{"get", ""}, statusUsage, "a valid message as msgpack: say which with -t"},
		{"number out of the range of an int32", eventBSON, []string{"set", "-t", "bson", "readings.0.value=2147483648"}, statusFailed, "an int32 stands there"},
		{"text where an integer of MessagePack was", eventMsgPack, []string{"set", "-t", "msgpack", "readings.0.value=high"}, statusFailed, `"high" is not a number`},
		{"protobuf without a schema", "\x08\x01", []string{"convert", "--from", "protobuf", "--to", "json"}, statusFailed, "it takes a schema to convert it"},
		{"NaN in JSON", `{"a":0.5}`, []string{"set", "a=NaN"}, statusFailed, `a: "NaN" cannot replace the float there: json: cannot use float here: JSON has no form for NaN`},
		{"a text as a number", event, []string{"get", "--as", "int32", "deviceName"}, statusFailed, "deviceName: cbor: cannot use text as int32: it is no number"},
		{"a name in Y3 without a schema", noise, []string{"get", "event.noise"}, statusNotFound, "which has numbers for names: write one, such as 0x10, or give the names with --schema"},
		{"a fraction where an integer of CBOR was", event, []string{"set", "origin=1.5"}, statusFailed, `origin: "1.5" cannot replace the integer there: cbor: `},
		{"a descriptor set for a hint file", noise, []string{"get", "--schema", "../../../examples/messages/noise.desc", "a"}, statusUsage, "say with --message which of its messages it is"},
		{"no such schema", noise, []string{"get", "--schema", filepath.Join(dir, "absent"), "a"}, statusFailed, "no such file"},
		{"a schema that is none", noise, []string{"get", "--schema", "../../../examples/messages/noise.desc", "a"}, statusUsage, "examples/messages/noise.desc: schema: line 2: invalid character"},
		{"an unknown message", noise, []string{"get", "--schema", "../../../examples/messages/noise.desc", "--message", "example.Noize", "a"}, statusUsage, "example.Noise"},
		{"a message without its set", noise, []string{"get", "--message", "example.Noise", "a"}, statusUsage, "name the descriptor set that has it with --schema"},
		{"key twice", `{"a":1,"a":2}`, []string{"get", "a"}, statusFailed, "json: "},
		{"another type", event, []string{"get", "-t", "json", "deviceName"}, statusFailed, "standard input is no valid json message: json: "},
		{"two candidates", "\x81\x00", []string{"get", "0"}, statusUsage, "a valid message as cbor and as y3: say which with -t"},
		{"protobuf that looks like one Y3 primitive", "\x0a\x02\x08\x01", []string{"get", ""}, statusUsage, "one value to y3, and may well be protobuf: say which with -t"},
		{"number or CBOR", "1", []string{"get", ""}, statusUsage, "a valid message as cbor and as json: say which with -t"},
		{"cast that does not fit", noise, []string{"get", "--as", "int32", "0x01.0x10"}, statusFailed, "0x01.0x10: y3: cannot use map as int32"},
		{"text where a number was", `{"a":5}`, []string{"set", "a=five"}, statusFailed, `a: "five" is not a number`},
		{"number out of range", `{"a":0.5}`, []string{"set", "a=1e999"}, statusFailed, "a: 1e999 exceeds the range of a float64"},
		{"text where a bool was", `{"a":true}`, []string{"set", "a=yes"}, statusFailed, `a: "yes" is not true or false`},
		{"value where null was", `{"a":null}`, []string{"set", "a=5"}, statusFailed, "a: there is null, which has no type"},
		{"value where a list was", `{"a":[1]}`, []string{"set", "a=5"}, statusFailed, "a: there is a list: name one value within it"},
		{"no hex", noise, []string{"set", "0x01.0x10.0x13=pump"}, statusFailed, "is not hex, which is how bytes are given; say what it is with --as"},
		{"cast out of range", noise, []string{"set", "--as", "int32", "0x01.0x10.0x12=4294967296"}, statusFailed, `"4294967296" is no int32`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ferryWith(c.stdin, c.args...)
			if got.status != c.status || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
				t.Errorf("got %+v, want status %d and %q", got, c.status, c.want)
			}
			if strings.Count(got.stderr, "ferry") > 2 || !strings.HasSuffix(got.stderr, "\n") {
				t.Errorf("standard error is not one clear message: %q", got.stderr)
			}
		})
	}
}

func TestFileAndFlagsAnywhere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "event.cbor")
	if err := os.WriteFile(file, []byte(event), 0o600); err != nil {
		t.Fatal(err)
	}
	want := outcome{stdout: "\"pump-1\"\n"}
	for _, line := range [][]string{
		{"get", "-q", "-t", "cbor", "-o", "json", "deviceName", file},
		{"get", "deviceName", file, "-q", "-tcbor", "-ojson"},
		{"-q", "--type=cbor", "get", "deviceName", "--output", "json", file},
		{"get", "-o", "json", "--quiet", "deviceName", "--", file},
	} {
		if got := ferryWith("", line...); got != want {
			t.Errorf("ferry %q: got %+v, want %+v", line, got, want)
		}
	}
	if got := ferryWith(event, "get", "-q", "-o", "json", "deviceName", "-"); got != want {
		t.Errorf("with - for standard input: got %+v, want %+v", got, want)
	}
}

// TestOutputThatFails checks that a full disk is an error, and that a closed pipe is not.
func TestOutputThatFails(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs /dev/full: Linux has it")
	}
	defer full.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	for _, args := range [][]string{{"get", "-q", "deviceName"}, {"--help"}, {"get", "--help"}, {"--version"}} {
		var stderr strings.Builder
		if status := Run(builtin(), args, strings.NewReader(event), full, &stderr); status != statusFailed || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q to a full disk: status %d, %q", args, status, stderr.String())
		}
		stderr.Reset()
		if status := Run(builtin(), args, strings.NewReader(event), w, &stderr); status != statusDone || stderr.String() != "" {
			t.Errorf("%q into a closed pipe: status %d, %q", args, status, stderr.String())
		}
	}
}
