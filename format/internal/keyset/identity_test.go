package keyset

import "testing"

func TestParseInteger(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		n         uint64
		minus, ok bool
	}{
		"0": {0, false, true}, "-1": {0, true, true}, "-256": {255, true, true}, "18446744073709551615": {1<<64 - 1, false, true},
		"-18446744073709551616": {1<<64 - 1, true, true}, "-18446744073709551615": {1<<64 - 2, true, true},
		"18446744073709551616": {}, "-18446744073709551617": {}, "-0": {}, "01": {}, "+1": {}, "-": {}, "": {}, "1.0": {}, "x": {},
	} {
		n, minus, ok := ParseInteger(text)
		if ok != want.ok || ok && (n != want.n || minus != want.minus) {
			t.Errorf("%q: got %d, %v, %v, want %+v", text, n, minus, ok, want)
		}
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	upper, lower := Identity{Class: Text, Content: []byte("ID")}, Identity{Class: Text, Content: []byte("id")}
	if upper.Equal(lower, false) || !upper.Equal(lower, true) || upper.Hash(true) != lower.Hash(true) {
		t.Error("texts that differ in case only are equal with fold, and only then")
	}
	if b := (Identity{Class: Bytes, Content: []byte("id")}); b.Equal(lower, false) || b.Equal(Identity{Class: Bytes, Content: []byte("ID")}, true) {
		t.Error("bytes are equal to the same bytes only")
	}
	if one := (Identity{Class: Integer, N: 1}); one.Equal(Identity{Class: Negative, N: 1}, false) || one.Hash(false) == (Identity{Class: Negative, N: 1}).Hash(false) {
		t.Error("1 and -2 are equal, or have one hash")
	}
}
