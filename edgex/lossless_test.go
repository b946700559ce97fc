package edgex_test

import (
	"strings"
	"testing"

	fxcbor "github.com/fxamacker/cbor/v2"

	"example.com/ferry/codec/cbor"
	"example.com/ferry/edgex"
)

// TestConvertLosesNothing converts events from CBOR to JSON and back. A value that would come back as another one is an
// error that names it.
func TestConvertLosesNothing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		change func(*edgex.Event)
		want   string // part of the error; empty if the event comes back
	}{
		{"bytes in an objectValue", func(e *edgex.Event) { e.AddObject("r", map[string]any{"raw": []byte{1, 2}}) }, "readings.1.objectValue.raw"},
		{"bytes in the tags", func(e *edgex.Event) { e.Tags = map[string]any{"raw": []byte{1}} }, "tags.raw"},
		{"a list that looks like readings", func(e *edgex.Event) {
			e.Tags = map[string]any{"readings": []any{map[string]any{"binaryValue": []byte{1}}}}
		}, "tags.readings.0.binaryValue"},
		{"tag 0", func(e *edgex.Event) {
			e.Tags = map[string]any{"at": fxcbor.Tag{Number: 0, Content: "2013-03-21T20:04:00Z"}}
		}, "tag 0"},
		{"a tag in a tag", func(e *edgex.Event) {
			e.Tags = map[string]any{"at": fxcbor.Tag{Number: 100, Content: fxcbor.Tag{Number: 1, Content: 5}}}
		}, "tag 100"},
		{"a binaryValue and text", func(e *edgex.Event) {
			e.AddBinary("b", []byte{1, 2, 3}, "image/png")
			e.Tags = map[string]any{"text": "AQID"}
		}, ""},
	} {
		e := edgex.NewEvent("p", "d", "s")
		if err := e.AddSimple("n", edgex.Int32, int32(1)); err != nil {
			t.Fatal(err)
		}
		row.change(&e)
		data, err := cbor.Codec{}.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var v edgex.View
		if err := v.Open(data, 0); err != nil {
			t.Fatal(err)
		}
		text, err := v.Convert(nil, edgex.JSON)
		if row.want != "" {
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: got %s, %v, want an error with %q", row.name, text, err, row.want)
			}
			continue
		}
		if err == nil {
			err = v.Open(text, 0)
		}
		var back []byte
		if err == nil {
			back, err = v.Convert(nil, edgex.CBOR)
		}
		if err != nil || string(back) != string(data) {
			t.Errorf("%s: got %q, %v, want %q", row.name, back, err, data)
		}
	}
}
