package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// standardSet writes a descriptor set with a message that has each rule of ProtoJSON, and returns its path.
func standardSet(t *testing.T) string {
	t.Helper()
	file := new(descriptorpb.FileDescriptorProto)
	if err := prototext.Unmarshal([]byte(`
		name: "all.proto" package: "plant" syntax: "proto3"
		dependency: "google/protobuf/timestamp.proto" dependency: "google/protobuf/duration.proto" dependency: "google/protobuf/wrappers.proto"
		message_type {
			name: "All"
			field { name: "big_number" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 }
			field { name: "unsigned" number: 2 label: LABEL_OPTIONAL type: TYPE_FIXED64 }
			field { name: "state" number: 3 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".plant.State" }
			field { name: "labels" number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".plant.All.LabelsEntry" }
			field { name: "raw" number: 5 label: LABEL_OPTIONAL type: TYPE_BYTES }
			field { name: "at" number: 6 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" }
			field { name: "lasts" number: 7 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.Duration" }
			field { name: "limit" number: 8 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.Int64Value" }
			field { name: "plain" number: 9 label: LABEL_REPEATED type: TYPE_INT32 options { packed: false } }
			field { name: "packed" number: 10 label: LABEL_REPEATED type: TYPE_INT32 }
			field { name: "by_hand" number: 12 label: LABEL_OPTIONAL type: TYPE_BOOL oneof_index: 0 }
			field { name: "by_name" number: 13 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0 json_name: "who" }
			field { name: "level" number: 11 label: LABEL_OPTIONAL type: TYPE_DOUBLE }
			oneof_decl { name: "control" }
			nested_type {
				name: "LabelsEntry" options { map_entry: true }
				field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
				field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_UINT64 }
			}
		}
		enum_type { name: "State" value { name: "OFF" number: 0 } value { name: "ON" number: 1 } }`), file); err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto), protodesc.ToFileDescriptorProto(durationpb.File_google_protobuf_duration_proto),
		protodesc.ToFileDescriptorProto(wrapperspb.File_google_protobuf_wrappers_proto), file,
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "all.desc")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestProtoJSON converts a message with each rule of the standard to JSON and back, and reads other spellings.
func TestProtoJSON(t *testing.T) {
	set := []string{"-q", "--schema", standardSet(t), "--message", "plant.All"}
	toJSON := append([]string{"convert", "--from", "protobuf", "--to", "json"}, set...)
	toProtobuf := append([]string{"convert", "--from", "json", "--to", "protobuf"}, set...)
	wire := "\x08\x81\x80\x80\x80\x80\x80\x80\x10\x11\xff\xff\xff\xff\xff\xff\xff\xff\x18\x01\x22\x05\x0a\x01a\x10\x07\x2a\x02\x01\xff" +
		"\x32\x06\x08\x80\x89\x95\x9a\x06\x3a\x08\x08\x01\x10\x80\xca\xb5\xee\x01\x42\x02\x08\x05\x48\x03\x48\x04\x52\x02\x05\x06\x59\x00\x00\x00\x00\x00\x00\xf8\x3f\x6a\x01x"
	text := `{"bigNumber":"9007199254740993","unsigned":"18446744073709551615","state":"ON","labels":{"a":"7"},"raw":"Af8=",` +
		`"at":"2022-10-11T10:25:04Z","lasts":"1.500s","limit":"5","plain":[3,4],"packed":[5,6],"who":"x","level":1.5}`
	run := func(args []string, stdin string) outcome {
		t.Helper()
		return ferryWith(stdin, args...)
	}
	got := run(toJSON, wire)
	if got.status != 0 || got.stdout != text+"\n" {
		t.Fatalf("to JSON: got %d, %s%s\nwant %s", got.status, got.stdout, got.stderr, text)
	}
	if got := run(toProtobuf, text); got.status != 0 || got.stdout != wire {
		t.Errorf("to protobuf: got %d, % x%s\nwant % x", got.status, got.stdout, got.stderr, wire)
	}
	for in, want := range map[string]string{
		`{"big_number":5,"by_name":"x"}`:              "\x08\x05\x6a\x01x",
		`{"bigNumber":5.0,"state":1,"level":"1.5e0"}`: "\x08\x05\x18\x01\x59\x00\x00\x00\x00\x00\x00\xf8\x3f",
		`{"raw":"Af8","at":null}`:                     "\x2a\x02\x01\xff",
	} {
		if got := run(toProtobuf, in); got.status != 0 || got.stdout != want {
			t.Errorf("%s: got %d, % x%s, want % x", in, got.status, got.stdout, got.stderr, want)
		}
	}
	for in, want := range map[string]string{
		`{"bigNumbr":5}`:              "bigNumbr",
		`{"state":"HALF"}`:            "HALF",
		`{"bigNumber":"1.5"}`:         "1.5",
		`{"byHand":true,"who":"x"}`:   "oneof",
		`{"at":"yesterday"}`:          "yesterday",
		`{"packed":[99999999999]}`:    "99999999999",
		`{"bigNumber":1,"level":[1]}`: "level",
	} {
		if got := run(toProtobuf, in); got.status != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: got %d, %q, want an error with %q", in, got.status, got.stderr, want)
		}
	}
	loud := append([]string{"convert", "--from", "protobuf", "--to", "json"}, set[1:]...)
	if got := run(loud, "\x08\x05\xa0\x06\x01"); got.stdout != `{"bigNumber":"5"}`+"\n" || !strings.Contains(got.stderr, "left out") {
		t.Errorf("an unknown field: got %q, %q, want a note", got.stdout, got.stderr)
	}
}

// TestProtoJSONByHints converts with a hint file, which has no oneofs, enums and well-known types.
func TestProtoJSONByHints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hints.json")
	hints := `{"fields":{"pump_id":{"key":1,"type":"uint64"},"a name":{"key":2,"type":"string"},"parts":{"key":3,"type":"Part","list":true},"samples":{"key":4,"type":"sint32","list":true}},
		"types":{"Part":{"serial":{"key":1,"type":"bytes"},"sub":{"key":2,"type":"Part"}}}}`
	if err := os.WriteFile(path, []byte(hints), 0o600); err != nil {
		t.Fatal(err)
	}
	wire := "\x08\x00\x12\x01n\x1a\x07\x0a\x01\x01\x12\x02\x0a\x00\x22\x02\x01\x02"
	text := `{"pumpId":"0","a name":"n","parts":[{"serial":"AQ==","sub":{"serial":""}}],"samples":[-1,1]}`
	if got := ferryWith(wire, "convert", "-q", "--schema", path, "--from", "protobuf", "--to", "json"); got.stdout != text+"\n" {
		t.Errorf("got %s%s, want %s", got.stdout, got.stderr, text)
	}
	if got := ferryWith(text, "convert", "-q", "--schema", path, "--from", "json", "--to", "protobuf"); got.stdout != wire {
		t.Errorf("got % x%s, want % x", got.stdout, got.stderr, wire)
	}
}
