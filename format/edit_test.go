package format_test

import (
	"bytes"
	"slices"
	"testing"

	"example.com/ferry/format"
)

type change struct {
	off, end int
	with     string
}

func TestEdit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		changes []change
		want    string
		inPlace bool
	}{
		{"nothing", nil, "0123456789", true},
		{"same length", []change{{2, 4, "ab"}}, "01ab456789", true},
		{"longer", []change{{2, 4, "abc"}}, "01abc456789", false},
		{"shorter", []change{{2, 4, ""}}, "01456789", false},
		{"insertion at the start", []change{{0, 0, "ab"}}, "ab0123456789", false},
		{"insertion at the end", []change{{10, 10, "ab"}}, "0123456789ab", false},
		{"everything", []change{{0, 10, "x"}}, "x", false},
		{"inner before outer", []change{{6, 8, "cd"}, {1, 2, "b"}}, "0b2345cd89", true},
		{"a head and its content", []change{{2, 3, "h"}, {3, 5, "vw"}}, "01hvw56789", true},
		{"a longer head and a shorter content", []change{{2, 3, "hh"}, {3, 5, "v"}}, "01hhv56789", true},
		{"several at one offset", []change{{4, 4, "a"}, {4, 4, "b"}, {4, 5, "c"}}, "0123abc56789", false},
		{"two that balance each other apart", []change{{1, 2, "ab"}, {5, 7, "c"}}, "0ab234c789", false},
	}
	var e format.Edit
	for _, test := range tests {
		data := []byte("0123456789")
		e.Reset(data)
		for i, c := range test.changes {
			with := []byte(c.with)
			if i%2 == 0 {
				e.PutCopy(c.off, c.end, with)
				clear(with)
			} else {
				e.Put(c.off, c.end, with)
			}
		}
		if got := e.AppendTo([]byte("dst")); string(got) != "dst"+test.want {
			t.Errorf("%s: AppendTo gives %q, want %q", test.name, got, "dst"+test.want)
		}
		buffers := e.Buffers(nil)
		if got := slices.Concat(buffers...); string(got) != test.want {
			t.Errorf("%s: Buffers give %q, want %q", test.name, buffers, test.want)
		}
		if e.Len() != len(test.want) {
			t.Errorf("%s: Len gives %d, want %d", test.name, e.Len(), len(test.want))
		}
		before := bytes.Clone(data)
		want := test.want
		if !test.inPlace {
			want = string(before)
		}
		if ok := e.InPlace(); ok != test.inPlace || string(data) != want {
			t.Errorf("%s: InPlace gives %v and %q, want %v and %q", test.name, ok, data, test.inPlace, want)
		}
	}
}

func TestEditBuffersAliasTheMessage(t *testing.T) {
	t.Parallel()
	data := []byte("0123456789")
	var e format.Edit
	e.Reset(data)
	e.Put(2, 3, []byte("ab"))
	parts := e.Buffers(nil)
	if len(parts) != 3 || &parts[0][0] != &data[0] || &parts[2][0] != &data[3] {
		t.Errorf("got %q, want the message's own bytes around the new ones", parts)
	}
}

func TestEditAllocates(t *testing.T) {
	data := make([]byte, 1000)
	var e format.Edit
	dst := make([]byte, 0, 2000)
	parts := make([][]byte, 0, 8)
	with := []byte("with")
	got := testing.AllocsPerRun(100, func() {
		e.Reset(data)
		e.PutCopy(20, 21, with)
		e.Put(10, 12, with)
		dst, parts = e.AppendTo(dst[:0]), e.Buffers(parts[:0])
	})
	if got != 0 {
		t.Errorf("an Edit that is used again allocates %v times, want 0", got)
	}
}
