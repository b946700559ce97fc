package y3

import (
	"math/rand/v2"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

func FuzzLookup(f *testing.F)  { fuzzLookup(f, Format{Dialect: P}) }
func FuzzLookupN(f *testing.F) { fuzzLookup(f, Format{Dialect: N}) }

func fuzzLookup(f *testing.F, form Format) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, text := range []string{"0x00", "0x01.0x02", "0x01.0.0x11", "0x10.1", "0x20"} {
			s, err := form.Lookup(data, field.MustParse(text))
			if err == nil && (s.Head < 0 || s.Head >= s.Off || s.Off > s.End || s.End > len(data)) {
				t.Errorf("%s: %+v is not inside %d bytes", text, s, len(data))
			}
		}
		formattest.Check(t, form, data)
	})
}

func FuzzValidate(f *testing.F)  { fuzzValidate(f, Format{Dialect: P}) }
func FuzzValidateN(f *testing.F) { fuzzValidate(f, Format{Dialect: N}) }

// fuzzValidate writes each valid message again with a Builder. The bytes must be equal.
func fuzzValidate(f *testing.F, form Format) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if form.Validate(data, format.Options{}) != nil {
			return
		}
		b := NewBuilder(form.Dialect)
		open := 0
		closeTo := func(depth int) {
			for ; open > depth; open-- {
				b.End()
			}
		}
		err := form.Walk(data, func(step field.Step, depth int, s field.Span) error {
			if depth == 0 {
				return nil
			}
			closeTo(depth - 1)
			key := max(step.Key, 0)
			switch {
			case s.Kind == field.Untyped:
				b.Bytes(key, data[s.Off:s.End])
				return nil
			case data[s.Head]&sliceFlag != 0:
				b.Slice(key)
			default:
				b.Node(key)
			}
			open++
			return nil
		})
		closeTo(0)
		got, buildErr := b.Message()
		if err != nil || buildErr != nil || string(got) != string(data) {
			t.Errorf("written anew: got % x, %v, %v, want % x", got, err, buildErr, data)
		}
	})
}

func FuzzPatch(f *testing.F)  { fuzzPatch(f, Format{Dialect: P}) }
func FuzzPatchN(f *testing.F) { fuzzPatch(f, Format{Dialect: N}) }

func fuzzPatch(f *testing.F, form Format) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, text := range []string{"0x00", "0x01.0x02", "0x10.0"} {
			p := field.MustParse(text)
			v := field.Value{Kind: field.Untyped, Bytes: data}
			got, err := form.Patch(nil, data, p, v)
			if err != nil {
				continue
			}
			s, err := form.Lookup(got, p)
			if err != nil || string(got[s.Off:s.End]) != string(data) {
				t.Errorf("%s: patched to % x, reads %+v, %v", text, got, s, err)
			}
		}
	})
}

// FuzzEdit and FuzzEditN insert, delete and replace values at any path.
func FuzzEdit(f *testing.F)  { formattest.FuzzEdits(f, Format{Dialect: P}, documents(P)...) }
func FuzzEditN(f *testing.F) { formattest.FuzzEdits(f, Format{Dialect: N}, documents(N)...) }

func documents(d Dialect) (all [][]byte) {
	for seed := range uint64(5) {
		all = append(all, randomMessage(d)(rand.New(rand.NewPCG(7, seed))))
	}
	for _, b := range regressions {
		all = append(all, b.data)
	}
	return all
}
