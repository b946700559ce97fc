package incremental_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/internal/incremental"
)

// scriptedGrammar is a Grammar whose items have predefined sizes. A CBOR text follows them.
type scriptedGrammar struct {
	items []int
	at    int
	calls int
}

func (g *scriptedGrammar) Start(*incremental.Search) { g.at = 0 }

func (g *scriptedGrammar) End(*incremental.Search) error { return io.ErrUnexpectedEOF }

func (g *scriptedGrammar) Next(s *incremental.Search, b []byte) (int, error) {
	g.calls++
	switch {
	case len(b) < 3:
		return 0, io.ErrUnexpectedEOF
	case b[0] == '!':
		return 0, s.Syntax(1, "an exclamation")
	case g.at == len(g.items):
		n := int(b[0] - 0x60)
		s.Scalar(field.Span{Head: s.Off(), Off: s.Off() + 1, End: s.Off() + 1 + n, Kind: field.Text}, s.Off())
		return n + 1, nil
	}
	g.at++
	return g.items[g.at-1], nil
}

func TestSkippedBytesAreNotRead(t *testing.T) {
	t.Parallel()
	g := &scriptedGrammar{items: []int{1 << 20}}
	s := incremental.New(cbor.Format{}, g, format.SearchOptions{})
	piece := make([]byte, 1<<10)
	for range 1 << 10 {
		if answer, err := s.Feed(piece); answer != format.More || err != nil {
			t.Fatalf("got %v, %v, want more", answer, err)
		}
	}
	if g.calls > 2 {
		t.Errorf("the grammar was asked %d times about an item of 1 MiB, want at most 2", g.calls)
	}
	if answer, err := s.Feed([]byte("\x63abcdef")); answer != format.Found || err != nil {
		t.Fatalf("got %v, %v, want found", answer, err)
	}
	want := field.Span{Head: 1 << 20, Off: 1<<20 + 1, End: 1<<20 + 4, Kind: field.Text}
	if got := s.Span(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if v, err := s.Value(field.AnyType); err != nil || string(v.Bytes) != "abc" {
		t.Errorf("got %q, %v, want abc", v.Bytes, err)
	}
}

// TestPieces splits a message into three pieces at all positions. Its items are shorter than the bytes that Next needs.
func TestPieces(t *testing.T) {
	t.Parallel()
	message := "1223334444\x65hello."
	for first := range len(message) {
		for second := first; second < len(message); second++ {
			s := incremental.New(cbor.Format{}, &scriptedGrammar{items: []int{1, 2, 3, 4}}, format.SearchOptions{})
			for _, piece := range []string{message[:first], message[first:second], message[second:]} {
				if _, err := s.Feed([]byte(piece)); err != nil {
					t.Fatal(err)
				}
			}
			if v, err := s.Value(field.AnyType); err != nil || string(v.Bytes) != "hello" {
				t.Errorf("cut at %d and %d: got %q, %v, want hello", first, second, v.Bytes, err)
			}
		}
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 20)
	for _, test := range []struct {
		max  int
		want error
	}{{21, nil}, {20, format.ErrTooLong}, {1, format.ErrTooLong}} {
		s := incremental.New(cbor.Format{}, &scriptedGrammar{}, format.SearchOptions{MaxValue: test.max})
		answer, err := s.Feed([]byte("\x74" + text))
		if answer != format.Found || err != nil {
			t.Errorf("MaxValue %d: got %v, %v, want found", test.max, answer, err)
		}
		if got := s.Span(); got.Off != 1 || got.End != 21 {
			t.Errorf("MaxValue %d: got %+v, want 1 to 21", test.max, got)
		}
		if _, err := s.Value(field.AnyType); !errors.Is(err, test.want) {
			t.Errorf("MaxValue %d: got %v, want %v", test.max, err, test.want)
		}
	}
}

func TestErrorStays(t *testing.T) {
	t.Parallel()
	s := incremental.New(cbor.Format{}, &scriptedGrammar{items: []int{5}}, format.SearchOptions{})
	for _, piece := range []string{"12345", "!!", "!!", "\x63abc"} {
		_, _ = s.Feed([]byte(piece))
	}
	answer, err := s.End()
	var syntax *format.SyntaxError
	if answer != format.More || !errors.As(err, &syntax) || syntax.Offset != 6 {
		t.Errorf("got %v, %v, want a *format.SyntaxError at offset 6", answer, err)
	}
	if _, err := s.Value(field.AnyType); !errors.As(err, &syntax) {
		t.Errorf("Value: got %v, want the same error", err)
	}
	s.Reset()
	if answer, err := s.Feed([]byte("12345\x63abc")); answer != format.Found || err != nil || s.Span().Head != 5 {
		t.Errorf("after Reset: got %v, %v at %+v, want found at 5", answer, err, s.Span())
	}
}

func TestNoResult(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"", "1", "12345"} {
		s := incremental.New(cbor.Format{}, &scriptedGrammar{items: []int{9}}, format.SearchOptions{})
		if answer, err := s.Feed([]byte(piece)); answer != format.More || err != nil {
			t.Errorf("%q: got %v, %v, want more", piece, answer, err)
		}
		if got := s.Span(); got.Found() {
			t.Errorf("%q: got %+v, want the zero Span", piece, got)
		}
		if _, err := s.Value(field.AnyType); !errors.Is(err, field.ErrNotFound) {
			t.Errorf("%q: got %v, want field.ErrNotFound", piece, err)
		}
		if _, err := s.End(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: got %v, want io.ErrUnexpectedEOF", piece, err)
		}
	}
}
