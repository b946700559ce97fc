package bson

import (
	_ "embed"
	"encoding/hex"
	"strings"
	"testing"

	"example.com/ferry/format"
)

// bsonCorpus has one test case per line: the verdict of the corpus, the verdict of Validate, the name, and the bytes.
// See testdata/README.md.
//
//go:embed testdata/bson-corpus.tsv
var bsonCorpus string

// verdict is the result of Validate: refused, accepted, or accepted only with BoundsOnly.
func verdict(data []byte) string {
	switch {
	case Format{}.Validate(data, format.Options{}) == nil:
		return "accepted"
	case Format{}.Validate(data, format.Options{BoundsOnly: true}) == nil:
		return "bounds"
	}
	return "refused"
}

// TestBSONCorpus runs the corpus. Validate must accept valid documents and refuse errors. With BoundsOnly it must also
// accept degenerate documents, which a decoder may read.
func TestBSONCorpus(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(bsonCorpus) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 4 {
			t.Fatalf("%d cells in %q, want 4", len(cells), line)
		}
		data, err := hex.DecodeString(cells[3])
		if err != nil {
			t.Fatal(err)
		}
		kind, name, got := cells[0], cells[2], verdict(data)
		if got != cells[1] {
			t.Errorf("%s: %s, want %s", name, got, cells[1])
		}
		switch {
		case kind == "valid" && got != "accepted":
			t.Errorf("%s: valid, and %s", name, got)
		case kind == "degenerate" && got == "refused":
			t.Errorf("%s: degenerate, and %s", name, got)
		case kind == "error" && got == "accepted":
			t.Errorf("%s: an error, and %s", name, got)
		}
	}
}
