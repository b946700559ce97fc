package cbor

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

func seeds(f *testing.F) [][]byte {
	f.Helper()
	var all [][]byte
	for _, e := range events(f) {
		all = append(all, e)
	}
	files, err := filepath.Glob("testdata/vectors/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no vectors", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if b, err := hex.DecodeString(strings.TrimSpace(line)); err == nil && len(b) > 0 {
				all = append(all, b)
			}
		}
	}
	return all
}

// FuzzLookup holds any bytes to the contract.
func FuzzLookup(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) { formattest.Check(t, Format{}, data) })
}

// FuzzValidate compares with another implementation's check of well-formedness. It may be more lenient only where ours
// says so: UTF-8, duplicate keys, containers as keys, deep nesting.
func FuzzValidate(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	mode, err := cbor.DecOptions{MaxNestedLevels: 65535, MaxArrayElements: 1<<31 - 1, MaxMapPairs: 1<<31 - 1}.DecMode()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want := mode.Wellformed(data)
		bounds := (Format{}).Validate(data, format.Options{MaxDepth: maxNesting, BoundsOnly: true})
		if deep := bounds != nil && strings.Contains(bounds.Error(), "nested deeper"); (bounds == nil) != (want == nil) && !deep {
			t.Errorf("BoundsOnly: got %v, fxamacker %v\n% x", bounds, want, data)
		}
		strict := (Format{}).Validate(data, format.Options{MaxDepth: maxNesting})
		if strict == nil && bounds != nil {
			t.Errorf("strict accepts what BoundsOnly refuses: %v\n% x", bounds, data)
		}
		if strict != nil && bounds == nil {
			for _, known := range []string{"UTF-8", "stands twice", "is a container"} {
				if strings.Contains(strict.Error(), known) {
					return
				}
			}
			t.Errorf("strict refuses for another reason than the documented ones: %v\n% x", strict, data)
		}
	})
}

// FuzzPatch replaces a text wherever it stands, and changes it back.
func FuzzPatch(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, "deviceName", []byte("pump-1"))
		f.Add(s, "readings.0.value", []byte("30"))
	}
	f.Fuzz(func(t *testing.T, data []byte, path string, text []byte) {
		p, err := field.Parse(path)
		if err != nil || (Format{}).Validate(data, format.Options{}) != nil {
			return
		}
		got, err := Format{}.Patch(nil, data, p, field.Value{Kind: field.Text, Bytes: text})
		if err != nil {
			var mismatch *format.TypeError
			if !errors.Is(err, field.ErrNotFound) && !errors.As(err, &mismatch) || got != nil {
				t.Errorf("got % x, %v for path %q\n% x", got, err, path, data)
			}
			return
		}
		if err := (Format{}).Validate(got, format.Options{}); err != nil {
			t.Errorf("Patch made % x of % x: %v", got, data, err)
		}
		s, err := Format{}.Lookup(got, p)
		if err != nil || s.Kind == field.Text && !utf8.Valid(text) {
			t.Fatalf("Lookup after Patch: %+v, %v\n% x", s, err, got)
		}
		if v, err := (Format{}).Value(got, s, field.ByteString); err != nil || !bytes.Equal(v.Bytes, text) {
			t.Errorf("reads %q, %v, want %q", v.Bytes, err, text)
		}
	})
}

func TestTruncated(t *testing.T) {
	for name, event := range events(t) {
		for n := range event {
			for _, o := range []format.Options{{}, {BoundsOnly: true}} {
				if err := (Format{}).Validate(event[:n], o); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%s, %d of %d bytes: got %v, want io.ErrUnexpectedEOF", name, n, len(event), err)
				}
			}
		}
	}
}

// FuzzEdit inserts, deletes and replaces anything anywhere.
func FuzzEdit(f *testing.F) { formattest.FuzzEdits(f, Format{}, seeds(f)...) }
