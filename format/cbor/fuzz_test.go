package cbor

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

// fuzzSeeds returns the inputs of all test vectors, and EdgeX events.
func fuzzSeeds(f *testing.F) [][]byte {
	f.Helper()
	all := formattest.VectorInputs(f, "cbor")
	for _, e := range edgexEvents(f) {
		all = append(all, e)
	}
	return all
}

// FuzzLookup checks the guarantees of format.Format for any bytes.
func FuzzLookup(f *testing.F) {
	for _, s := range fuzzSeeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) { formattest.Check(t, Format{}, data) })
}

// FuzzValidate compares the result with a check for well-formedness by another implementation. That check also accepts
// invalid UTF-8, duplicate keys, containers as keys and deep nesting.
func FuzzValidate(f *testing.F) {
	for _, s := range fuzzSeeds(f) {
		f.Add(s)
	}
	mode, err := cbor.DecOptions{MaxNestedLevels: 65535, MaxArrayElements: 1<<31 - 1, MaxMapPairs: 1<<31 - 1}.DecMode()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want := mode.Wellformed(data)
		bounds := (Format{}).Validate(data, format.Options{MaxDepth: maxNesting, BoundsOnly: true})
		if strconv.IntSize == 32 && want == nil && errors.Is(bounds, io.ErrUnexpectedEOF) {
			return // fxamacker reads a count of 2^31 or more as a negative int
		}
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

// FuzzPatch replaces each text of a message.
func FuzzPatch(f *testing.F) { formattest.FuzzPatches(f, Format{}, fuzzSeeds(f)) }

func TestTruncated(t *testing.T) {
	for name, event := range edgexEvents(t) {
		for n := range event {
			for _, o := range []format.Options{{}, {BoundsOnly: true}} {
				if err := (Format{}).Validate(event[:n], o); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%s, %d of %d bytes: got %v, want io.ErrUnexpectedEOF", name, n, len(event), err)
				}
			}
		}
	}
}

// FuzzEdit inserts, deletes and replaces values at any path.
func FuzzEdit(f *testing.F) { formattest.FuzzEdits(f, Format{}, fuzzSeeds(f)...) }
