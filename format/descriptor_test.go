package format_test

import (
	"strings"
	"testing"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/format/all"
	"example.com/ferry/format/cbor"
)

// renamedCBOR is a copy of the CBOR format with another name and payload type.
type renamedCBOR struct {
	cbor.Format
	name string
	typ  ferry.Type
}

func (r renamedCBOR) Name() string                  { return r.name }
func (r renamedCBOR) Descriptor() format.Descriptor { return format.Descriptor{Type: r.typ} }

func TestByType(t *testing.T) {
	t.Parallel()
	private := renamedCBOR{name: "own", typ: 200}
	byType, err := format.NewByType(append(all.Formats(), private))
	if err != nil {
		t.Fatal(err)
	}
	if byType[200] != private || byType[ferry.CBOR] != (cbor.Format{}) || byType[ferry.Raw] != nil {
		t.Errorf("indexed %v", byType)
	}
	for name, row := range map[string]struct {
		second renamedCBOR
		want   string
	}{
		"the type of raw payloads": {renamedCBOR{name: "own", typ: ferry.Raw}, "payload type 0"},
		"a reserved type":          {renamedCBOR{name: "own", typ: ferry.LastType + 1}, "want one of ferry's, 1 to 7, or a private one, 128 to 255"},
		"a type twice":             {renamedCBOR{name: "own", typ: ferry.CBOR}, "cbor and own both have payload type 3"},
		"a name twice":             {renamedCBOR{name: "cbor", typ: 128}, "two formats are named cbor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := format.NewByType([]format.Format{cbor.Format{}, row.second})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
