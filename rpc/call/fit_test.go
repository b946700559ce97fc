package call_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/ferry/rpc/call"
)

// TestFit: a status that is too large for a protocol keeps its code, and as much else as there is room for.
func TestFit(t *testing.T) {
	t.Parallel()
	detail := func(name string, n int) call.Detail { return call.Detail{Type: name, Value: make([]byte, n)} }
	room := call.Room{Bytes: 100, Message: 80, Detail: func(d *call.Detail) int { return len(d.Value) }}
	for _, row := range []struct {
		name    string
		message string
		details []call.Detail
		want    string
		types   string
	}{
		{"all fits", strings.Repeat("a", 80), []call.Detail{detail("x", 20)}, strings.Repeat("a", 80), "x"},
		{"a long message", strings.Repeat("a", 81), nil, strings.Repeat("a", 77) + "...", ""},
		{"whole characters", strings.Repeat("\u00e4", 50), nil, strings.Repeat("\u00e4", 38) + "...", ""},
		{"a detail that is too long", "no", []call.Detail{detail("x", 99), detail("y", 50), detail("z", 49), detail("0", 48)}, "no", "y 0"},
	} {
		s := &call.Status{Code: call.NotFound, Message: row.message, Details: row.details}
		got := s.Fit(room)
		var types []string
		for _, d := range got.Details {
			types = append(types, d.Type)
		}
		if got.Code != call.NotFound || got.Message != row.want || strings.Join(types, " ") != row.types || !utf8.ValidString(got.Message) {
			t.Errorf("%s: got %v with details %v, want %q with %s", row.name, got, types, row.want, row.types)
		}
	}
	s := &call.Status{Code: call.NotFound, Message: strings.Repeat("%", 100)}
	room.Byte = func(byte) int { return 3 }
	if got := s.Fit(room).Message; got != strings.Repeat("%", 25)+"..." {
		t.Errorf("a message of bytes that take three: got %q", got)
	}
	if got := s.Fit(call.Room{Bytes: -5}).Message; !slices.Contains([]int{64}, len(got)) {
		t.Errorf("no room: a message of %d bytes, want 64", len(got))
	}
}
