package protobuf

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

// seeds returns the inputs of all vectors, and random messages.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	all := append(formattest.VectorInputs(t, "protobuf"), formattest.VectorInputs(t, "schema")...)
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(7, seed))
		all = append(all, randomRecords(r, nil, 0), randomPump(r, nil, 0))
	}
	return all
}

// TestPeer compares the result for each seed with another implementation.
func TestPeer(t *testing.T) {
	for _, data := range seeds(t) {
		compareRecords(t, data)
	}
}

// FuzzLookup checks the contract of package format for any bytes.
func FuzzLookup(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) { formattest.Check(t, Format{}, data) })
}

// FuzzSchema checks the contract of package format for any bytes, with a schema.
func FuzzSchema(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) { formattest.Check(t, Format{pump}, data) })
}

// FuzzPeer compares record boundaries, numbers and values with another implementation.
func FuzzPeer(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(compareRecords)
}

// FuzzDescriptor parses descriptor sets.
func FuzzDescriptor(f *testing.F) {
	_, set := plantSet(f)
	for _, name := range []string{"plant.Pump", "Old", "New", ""} {
		f.Add(set, name)
	}
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		m, err := ParseDescriptorSet(data, name)
		if (m == nil) == (err == nil) {
			t.Fatalf("got %v and %v", m, err)
		}
		if m != nil {
			formattest.Check(t, Format{m}, data)
		}
	})
}

// peerRecord is a record that the other implementation has read.
type peerRecord struct {
	number protowire.Number
	typ    protowire.Type
	value  []byte // length and content
}

// peerRecords reads the records of data with the other implementation. It stops at the first record that this
// implementation refuses. It also stops at a number that exceeds the largest one, because the other implementation
// accepts such numbers for MessageSets.
func peerRecords(data []byte) (all []peerRecord, ok bool) {
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 || number > protowire.MaxValidNumber {
			return all, false
		}
		m := protowire.ConsumeFieldValue(number, typ, data[n:])
		if m < 0 {
			return all, false
		}
		all = append(all, peerRecord{number, typ, data[n : n+m]})
		data = data[n+m:]
	}
	return all, true
}

func compareRecords(t *testing.T, data []byte) {
	want, ok := peerRecords(data)
	i := 0
	for pos := 0; pos < len(data); i++ {
		r, err := readRecord(data, pos, len(data))
		if err != nil {
			if (ok || i != len(want)) && !hasGroup(data) {
				t.Errorf("record %d at offset %d: %v, the peer reads %d records, %v\n% x", i, pos, err, len(want), ok, data)
			}
			break
		}
		if i >= len(want) || r.number() != int(want[i].number) || r.wire() != wireType(want[i].typ) || !bytes.Equal(data[r.tagEnd(data):r.end], want[i].value) {
			t.Fatalf("record %d: got %+v, the peer reads %+v\n% x", i, r, want, data)
		}
		if r.wire() == wireLength {
			if content, n := protowire.ConsumeBytes(want[i].value); n < 0 || !bytes.Equal(content, data[r.off:r.end]) {
				t.Errorf("record %d: got the content % x, the peer reads % x\n% x", i, data[r.off:r.end], content, data)
			}
		}
		pos = r.end
	}
	if ok != (Format{}.Validate(data, format.Options{BoundsOnly: true}) == nil) && !hasGroup(data) {
		t.Errorf("BoundsOnly: %v, the peer says %v\n% x", Format{}.Validate(data, format.Options{BoundsOnly: true}), ok, data)
	}
	for i, w := range want {
		compareFirst(t, data, want[:i], w)
	}
}

// compareFirst looks up w, unless a record in before has the same number.
func compareFirst(t *testing.T, data []byte, before []peerRecord, w peerRecord) {
	for _, b := range before {
		if b.number == w.number {
			return
		}
	}
	s, err := Format{}.Lookup(data, field.MustParse(strconv.Itoa(int(w.number))))
	if err != nil {
		t.Errorf("Lookup of %d: %v\n% x", w.number, err, data)
		return
	}
	as := field.Uint64
	var want uint64
	switch w.typ {
	case protowire.VarintType:
		want, _ = protowire.ConsumeVarint(w.value)
	case protowire.Fixed32Type:
		n, _ := protowire.ConsumeFixed32(w.value)
		as, want = field.Uint32, uint64(n)
	case protowire.Fixed64Type:
		want, _ = protowire.ConsumeFixed64(w.value)
	case protowire.StartGroupType:
		var mismatch *format.TypeError
		if v, err := (Format{}).Value(data, s, field.AnyType); s.Kind != field.Extension || !errors.As(err, &mismatch) {
			t.Errorf("%d: got %+v, %+v, %v, want an extension that Value refuses\n% x", w.number, s, v, err, data)
		}
		return
	default:
		return
	}
	if v, err := (Format{}).Value(data, s, as); err != nil || uint64(v.Int) != want {
		t.Errorf("%d: got %+v, %v, want %d\n% x", w.number, v, err, want, data)
	}
}

// hasGroup reports whether any byte of data may start a group. Inside a group the other implementation accepts larger
// numbers and deeper nesting.
func hasGroup(data []byte) bool {
	return slices.ContainsFunc(data, func(c byte) bool { return wireType(c&7) == wireStart })
}

// FuzzPatch replaces values by texts at any path, with a schema.
func FuzzPatch(f *testing.F) { formattest.FuzzPatches(f, Format{pump}, seeds(f)) }

// FuzzEdit and FuzzEditSchema insert, delete and replace values at any path.
func FuzzEdit(f *testing.F)       { formattest.FuzzEdits(f, Format{}, seeds(f)...) }
func FuzzEditSchema(f *testing.F) { formattest.FuzzEdits(f, Format{pump}, seeds(f)...) }
