package transcode_test

import (
	"slices"
	"testing"

	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/internal/transcode"
)

// TestTags expects a note for each tag that has no form in JSON.
func TestTags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		data, want string
		notes      []string
	}{
		{"\xc0\x62at", `"at"`, []string{"tag 0 was dropped"}},
		{"\xc1\x01", `1`, []string{"tag 1 was dropped"}},
		{"\xd8\x64\xc1\x01", `1`, []string{"tag 100 was dropped", "tag 1 was dropped"}},
		{"\xc0\xc0\x62at", `"at"`, []string{"tag 0 was dropped"}},
		{"\xc1\xc2\x41\x05", `5`, []string{"tag 1 was dropped"}},
		{"\xc2\xc1\x41\x05", `"BQ=="`, []string{"tag 2 was dropped", "tag 1 was dropped", "bytes became base64 text"}},
		{"\xc2\x61a", `"a"`, []string{"tag 2 was dropped"}},
		{"\xc3\x80", `[]`, []string{"tag 3 was dropped"}},
		{"\xc2\x41\x05", `5`, nil},
		{"\xc3\x41\x05", `-6`, nil},
	} {
		out, notes, err := transcode.Message(nil, []byte(row.data), cbor.Format{}, json.Format{})
		if err != nil || string(out) != row.want || !slices.Equal(notes, row.notes) {
			t.Errorf("% x: got %s, %q, %v, want %s, %q", row.data, out, notes, err, row.want, row.notes)
		}
	}
}
