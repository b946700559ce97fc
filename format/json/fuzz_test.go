package json

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

// edgexEvents returns the events of testdata/edgex-vectors.json, which come from EdgeX go-mod-core-contracts v4.0.3.
func edgexEvents(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/edgex-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Name, JSON string }
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, v := range vectors {
		all[v.Name] = []byte(v.JSON)
	}
	return all
}

// fuzzSeeds returns the inputs of all test vectors, and EdgeX events.
func fuzzSeeds(f *testing.F) [][]byte {
	f.Helper()
	all := formattest.VectorInputs(f, "json")
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

// FuzzValidate compares the result with encoding/json. That package also accepts invalid UTF-8, lone surrogates,
// duplicate names and deep nesting.
func FuzzValidate(f *testing.F) {
	for _, s := range fuzzSeeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want := json.Valid(data)
		bounds := (Format{}).Validate(data, format.Options{MaxDepth: maxNesting, BoundsOnly: true})
		if deep := bounds != nil && strings.Contains(bounds.Error(), "nested deeper"); (bounds == nil) != want && !deep {
			t.Errorf("BoundsOnly: got %v, json.Valid %v\n%q", bounds, want, data)
		}
		strict := (Format{}).Validate(data, format.Options{MaxDepth: maxNesting})
		if strict == nil && bounds != nil {
			t.Errorf("strict accepts what BoundsOnly refuses: %v\n%q", bounds, data)
		}
		if strict != nil && bounds == nil {
			for _, known := range []string{"UTF-8", "surrogate", "stands twice"} {
				if strings.Contains(strict.Error(), known) {
					return
				}
			}
			t.Errorf("strict refuses for another reason than the documented ones: %v\n%q", strict, data)
		}
	})
}

// FuzzPatch replaces each text of a message by any other text, and reads the result with encoding/json.
func FuzzPatch(f *testing.F) {
	formattest.FuzzPatches(f, Format{}, fuzzSeeds(f), func(t *testing.T, message []byte, at field.Span, _ field.Path, text []byte) {
		var read string
		if err := json.Unmarshal(message[at.Head:endOf(at)], &read); err != nil || read != string(text) {
			t.Errorf("encoding/json reads %q, %v, want %q", read, err, text)
		}
	})
}

// FuzzEdit inserts, deletes and replaces values at any path.
func FuzzEdit(f *testing.F) { formattest.FuzzEdits(f, Format{}, fuzzSeeds(f)...) }
