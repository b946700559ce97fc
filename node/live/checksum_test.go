package live

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"example.com/ferry"
	"example.com/ferry/format"
	formatcbor "example.com/ferry/format/cbor"
	formatjson "example.com/ferry/format/json"
)

func TestChecksum(t *testing.T) {
	c := Checksum{Formats: []format.Format{formatjson.Format{}, formatcbor.Format{}}}
	of := func(n int) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(make([]byte, n))) }
	for _, tc := range []struct {
		name, tag string
		typ       ferry.Type
		payload   string
		want      string // the result, or a part of the error
	}{
		{"one block and a bit", "checksum/a/b", ferry.JSON, `{"id":7,"bytes":300000}`, `{"bytes":300000,"crc32":"` + of(300000) + `"}`},
		{"nothing", "checksum", ferry.JSON, `{"bytes":0}`, `{"bytes":0,"crc32":"00000000"}`},
		{"impolite", "checksum/a", ferry.JSON, `{"bytes":262144,"checkpoint":false}`, `{"bytes":262144,"crc32":"` + of(262144) + `"}`},
		{"polite", "checksum/a", ferry.JSON, `{"checkpoint":true,"bytes":1}`, `{"bytes":1,"crc32":"d202ef8d"}`},
		{"CBOR", "checksum/a", ferry.CBOR, "\xa1\x65bytes\x01", "\xa2\x65bytes\x01\x65crc32\x68d202ef8d"},
		{"no size", "checksum/a", ferry.JSON, `{}`, "bytes: field: not found"},
		{"too large", "checksum/a", ferry.JSON, `{"bytes":68719476737}`, "want an integer from 0 to 68719476736"},
		{"negative", "checksum/a", ferry.JSON, `{"bytes":-1}`, "want an integer"},
		{"beyond int64", "checksum/a", ferry.JSON, `{"bytes":18446744073709551615}`, "want an integer"},
		{"no number", "checksum/a", ferry.JSON, `{"bytes":"1"}`, "want an integer"},
		{"no bool", "checksum/a", ferry.JSON, `{"bytes":1,"checkpoint":0}`, "checkpoint: want true or false"},
		{"broken", "checksum/a", ferry.JSON, `{"bytes"`, "unexpected EOF"},
		{"another format", "checksum/a", ferry.Raw, `{}`, "want cbor or json"},
		{"another tag", "checksumming/a", ferry.JSON, `{"bytes":1}`, "want one below checksum/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := newRecorder()
			err := c.Handle(t.Context(), &ferry.Message{Tag: tc.tag, Type: tc.typ, Time: 5, Payload: []byte(tc.payload)}, out)
			if err != nil {
				if !strings.Contains(err.Error(), tc.want) || len(out.all()) > 0 {
					t.Errorf("got %v and %d results, want %q", err, len(out.all()), tc.want)
				}
				return
			}
			sent := out.all()
			if len(sent) != 1 || string(sent[0].Payload) != tc.want {
				t.Fatalf("got %+v, want one result, %q", sent, tc.want)
			}
			if want := "checksums" + strings.TrimPrefix(tc.tag, "checksum"); sent[0].Tag != want || sent[0].Type != tc.typ || sent[0].Time != 5 {
				t.Errorf("got tag %s, type %v, time %d, want %s, %v, 5", sent[0].Tag, sent[0].Type, sent[0].Time, want, tc.typ)
			}
		})
	}
}

func TestChecksumStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Checksum{Formats: []format.Format{formatjson.Format{}}}
	for request, want := range map[string]error{`{"bytes":1}`: context.Canceled, `{"bytes":1,"checkpoint":false}`: nil} {
		if err := c.Handle(ctx, &ferry.Message{Tag: "checksum", Type: ferry.JSON, Payload: []byte(request)}, newRecorder()); !errors.Is(err, want) {
			t.Errorf("%s after the end of its context: got %v, want %v", request, err, want)
		}
	}
}

func TestChecksumWithoutFormats(t *testing.T) {
	err := Checksum{}.Handle(t.Context(), &ferry.Message{Tag: "checksum", Type: ferry.JSON, Payload: []byte(`{"bytes":1}`)}, newRecorder())
	if want := "this program does not read json"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
