package field

import (
	"math/bits"
	"strconv"
	"testing"
)

func TestKeyFilter(t *testing.T) {
	t.Parallel()
	var s KeyFilter
	names := []string{"a", "id", "k8", "k16", "deviceName", "0x11", "7"}
	for _, name := range names {
		st := newStep(name)
		s.Add(&st)
	}
	for _, name := range names {
		if n := len(name); s.Names>>NameBit(n, name[n/2], name[n-1])&1 == 0 {
			t.Errorf("%q is stopped", name)
		}
	}
	if s.Indices != 1<<7 || s.Keys != 1<<0x11 {
		t.Errorf("got indices %b and keys %b, want 7 and 0x11", s.Indices, s.Keys)
	}
}

func TestNameBitDiffersForNumberedNames(t *testing.T) {
	t.Parallel()
	var wanted KeyFilter
	st := newStep("k32")
	wanted.Add(&st)
	through := 0
	for i := range 100 {
		name := "k" + strconv.Itoa(i)
		through += int(wanted.Names >> NameBit(len(name), name[len(name)/2], name[len(name)-1]) & 1)
	}
	if through > 4 {
		t.Errorf("%d of 100 names get through with k32, want at most 4", through)
	}
}

func TestNamesAfter(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		paths []Path
		left  int // number of set bits after the first path is found
	}{
		{"each has its bit", []Path{MustParse("k1"), MustParse("k2"), MustParse("k3")}, 2},
		{"two share a bit", []Path{MustParse("axb"), MustParse("cxb")}, 1},
	} {
		s, err := NewSet(row.paths...)
		if err != nil {
			t.Fatal(err)
		}
		n := &s.Nodes()[0]
		got := n.NamesAfter(n.Filter.Names, &s.Nodes()[1])
		if bits.OnesCount64(got) != row.left {
			t.Errorf("%s: got %d bits left of %d, want %d", row.name, bits.OnesCount64(got), bits.OnesCount64(n.Filter.Names), row.left)
		}
	}
}
