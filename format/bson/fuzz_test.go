package bson

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

func fuzzSeeds(f *testing.F) [][]byte {
	f.Helper()
	all := formattest.VectorInputs(f, "bson")
	for seed := range uint64(8) {
		all = append(all, appendRandomDocument(rand.New(rand.NewPCG(7, seed)), nil, false, 0))
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

// FuzzValidate compares the result with another implementation. That implementation checks only the outermost document,
// so the test calls it for each inner document too. It may accept more than Validate in the cases that Validate
// documents.
func FuzzValidate(f *testing.F) {
	for _, s := range fuzzSeeds(f) {
		f.Add(s)
	}
	f.Fuzz(compareValidate)
}

func TestValidateAsDriver(t *testing.T) {
	for _, data := range formattest.VectorInputs(t, "bson") {
		compareValidate(t, data)
	}
	for seed := range uint64(50) {
		data := appendRandomDocument(rand.New(rand.NewPCG(9, seed)), nil, false, 0)
		if err := deepValidate(data, 0); err != nil {
			t.Errorf("the driver refuses a generated document: %v\n% x", err, data)
		}
		compareValidate(t, data)
	}
}

func compareValidate(t *testing.T, data []byte) {
	want := deepValidate(data, 0)
	bounds := (Format{}).Validate(data, format.Options{MaxDepth: maxNesting, BoundsOnly: true, AllowTrailing: true})
	if bounds == nil && want != nil {
		t.Errorf("BoundsOnly accepts what the driver refuses: %v\n% x", want, data)
	}
	if bounds != nil && want == nil && !known(bounds, "nested deeper", "bool of value", "in a NUL", "string of length", "subtype 2", "length cut off",
		"scope of code", "code with scope") {
		t.Errorf("BoundsOnly: got %v, where the driver accepts\n% x", bounds, data)
	}
	strict := (Format{}).Validate(data, format.Options{MaxDepth: maxNesting, AllowTrailing: true})
	if strict == nil && bounds != nil {
		t.Errorf("strict accepts what BoundsOnly refuses: %v\n% x", bounds, data)
	}
	if strict != nil && bounds == nil && !known(strict, "UTF-8", "stands twice", "of an array") {
		t.Errorf("strict refuses for another reason than the documented ones: %v\n% x", strict, data)
	}
	if strict != nil {
		return
	}
	var whole bson.D
	if err := bson.Unmarshal(data[:binary.LittleEndian.Uint32(data)], &whole); err != nil {
		t.Errorf("the driver cannot decode what Validate accepts: %v\n% x", err, data)
	}
}

func known(err error, reasons ...string) bool {
	for _, r := range reasons {
		if strings.Contains(err.Error(), r) {
			return true
		}
	}
	return false
}

// deepValidate calls bson.Raw.Validate for data and for all documents and arrays inside. Raw.Validate may read bytes
// after a document's end, so deepValidate passes only the bytes of the document.
func deepValidate(data []byte, depth int) error {
	raw := bson.Raw(data)
	if len(data) >= 4 {
		raw = raw[:min(binary.LittleEndian.Uint32(data), uint32(len(data)))]
	}
	if err := raw.Validate(); err != nil {
		return err
	}
	elements, err := raw.Elements()
	if err != nil || depth > maxNesting {
		return err
	}
	for _, e := range elements {
		v := e.Value()
		inner := v.Value
		switch v.Type {
		case bson.TypeEmbeddedDocument, bson.TypeArray:
		case bson.TypeCodeWithScope:
			var ok bool
			if _, inner, ok = v.CodeWithScopeOK(); !ok {
				return errors.New("code with scope that the driver cannot read")
			}
		default:
			continue
		}
		if err := deepValidate(inner, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// FuzzPatch replaces each text of a message, and reads the result with the driver.
func FuzzPatch(f *testing.F) {
	formattest.FuzzPatches(f, Format{}, fuzzSeeds(f), func(t *testing.T, message []byte, _ field.Span, p field.Path, text []byte) {
		names := make([]string, 0, p.Len())
		for _, st := range p.Steps() {
			names = append(names, st.Name)
		}
		v := bson.Raw(message).Lookup(names...)
		if read, ok := v.StringValueOK(); ok && read != string(text) {
			t.Errorf("the driver reads %q, want %q\n% x", read, text, message)
		}
	})
}

func TestTruncated(t *testing.T) {
	data := everyType(t)
	for n := range data {
		for _, o := range []format.Options{{}, {BoundsOnly: true}} {
			if err := (Format{}).Validate(data[:n], o); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d of %d bytes: got %v, want io.ErrUnexpectedEOF", n, len(data), err)
			}
		}
	}
}

// FuzzEdit inserts, deletes and replaces values at any path.
func FuzzEdit(f *testing.F) { formattest.FuzzEdits(f, Format{}, fuzzSeeds(f)...) }
