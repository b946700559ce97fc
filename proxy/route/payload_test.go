package route_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"example.com/ferry/proxy/route"
)

func where(form, predicate string) route.Match {
	return route.Match{Payload: &route.Payload{Format: form, Where: predicate}}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	padding := strings.Repeat("x", route.MaxPayload)
	for _, c := range []struct {
		name, format, where, payload string
		want                         bool
	}{
		{"holds", "json", `a.b == 1`, `{"a":{"b":1}}`, true},
		{"does not hold", "json", `a.b == 1`, `{"a":{"b":2}}`, false},
		{"missing", "json", `a.b == 1`, `{"a":{}}`, false},
		{"missing, negated", "json", `!(a.b == 1)`, `{"a":{}}`, true},
		{"exists", "json", `exists(a)`, `{"a":{}}`, true},
		{"container compared", "json", `a == 1`, `{"a":{}}`, false},
		{"number at the end", "json", `exists(a) && a < 20`, `{"a":12}`, true},
		{"text as a number", "json", `a > 30`, `{"a":"31"}`, true},
		{"damaged, negated", "json", `!(a == 1)`, `{"b":nonsense`, false},
		{"damaged behind", "json", `a == 1`, `{"a":1,nonsense`, true},
		{"half of or is damaged", "json", `z == 1 || a == 1`, `{"a":1,nonsense`, true},
		{"half of and is damaged", "json", `z == 1 && a == 1`, `{"a":2,nonsense`, false},
		{"empty", "json", `!(a == 1)`, ``, false},
		{"cut", "json", `a == 1`, `{"a":`, false},
		{"just inside", "json", `exists(a)`, `{"p":"` + padding[:route.MaxPayload-14] + `","a":1}`, true},
		{"just outside", "json", `exists(a)`, `{"p":"` + padding + `","a":1}`, false},
		{"just outside, negated", "json", `!exists(a)`, `{"p":"` + padding + `","a":1}`, false},
		{"decided before the limit", "json", `exists(a)`, `{"a":1,"p":"` + padding + `"}`, true},
		{"cbor", "cbor", `a == 1`, "\xa1\x61a\x01", true},
		{"protobuf without it", "protobuf", `!exists(2)`, "\x08\x01", true},
		{"protobuf with it", "protobuf", `!exists(2)`, "\x08\x01\x10\x01", false},
		{"y3 with a cast", "y3n", `int32(0x01.0x10) == 1`, "\x81\x03\x10\x01\x01", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := table(t, host(to("it", where(c.format, c.where)))).NewMatcher()
			want := "none"
			if c.want {
				want = "it"
			}
			if got := result(m.Match(get("POST a/"), []byte(c.payload), true)); got != want {
				t.Errorf("at once: got %s, want %s", got, want)
			}
			step := 1 + len(c.payload)/100
			got := result(m.Match(get("POST a/"), nil, false))
			for n := 0; n < len(c.payload) && got == "need payload"; n += step {
				got = result(m.Continue(get("POST a/"), []byte(c.payload[:n]), false))
			}
			if got == "need payload" {
				got = result(m.Continue(get("POST a/"), []byte(c.payload), true))
			}
			if got != want {
				t.Errorf("in pieces: got %s, want %s", got, want)
			}
		})
	}
}

// TestPayloadAsSoonAsPossible checks that the search ends with the first byte that is enough to decide. It does not
// wait for routes after the one found.
func TestPayloadAsSoonAsPossible(t *testing.T) {
	t.Parallel()
	body := []byte(`{"kind":"alarm","level":3,"rest":"..."}`)
	m := table(t, host(
		to("high", where("json", `kind == "alarm" && level > 5`)),
		to("alarm", where("json", `kind == "alarm" || level > 5`)),
		to("level", where("json", `exists(level)`)),
		to("rest", route.Match{}),
	)).NewMatcher()
	decides := bytes.IndexByte(body, '3') + 2 // the comma is included, because the number might have more digits
	next := m.Match
	for n := range decides + 1 {
		want := "need payload"
		if n == decides {
			want = "alarm"
		}
		got := result(next(get("POST a/"), body[:n], false))
		if got != want {
			t.Fatalf("after %d bytes: got %s, want %s", n, got, want)
		}
		next = m.Continue
	}
	if got := result(m.Match(get("POST a/"), []byte(`{"kind":"note",`), false)); got != "need payload" {
		t.Errorf("another request: got %s, want need payload", got)
	}
	m.Reset()
	if got := result(m.Match(get("POST a/"), []byte(`{"kind":"note","level":0}`), true)); got != "level" {
		t.Errorf("after Reset: got %s, want level", got)
	}
	if got := result(m.Match(get("POST a/"), []byte(`[]`), true)); got != "rest" {
		t.Errorf("got %s, want rest", got)
	}
}

// TestPayloadLimit checks that the search ends after MaxPayload bytes of any payload.
func TestPayloadLimit(t *testing.T) {
	t.Parallel()
	m := table(t, host(to("it", where("msgpack", `a == 1 || b == 1`)))).NewMatcher()
	body := binary.BigEndian.AppendUint32([]byte{0xdf, 0, 0, 1, 0, 0xa1, 'x', 0xc6}, 1<<30) // a map that announces 1 GiB of binary
	body = append(body, make([]byte, route.MaxPayload)...)
	if got := result(m.Match(get("POST a/"), body[:route.MaxPayload-1], false)); got != "need payload" {
		t.Errorf("before the limit: got %s, want need payload", got)
	}
	if got := result(m.Continue(get("POST a/"), body[:route.MaxPayload], false)); got != "none" {
		t.Errorf("at the limit: got %s, want none", got)
	}
}

// TestMatchForgetsTheSearchBefore checks that an abandoned search does not affect the next request.
func TestMatchForgetsTheSearchBefore(t *testing.T) {
	t.Parallel()
	m := table(t, host(to("alarm", where("json", `kind == "alarm"`)), to("rest", route.Match{}))).NewMatcher()
	if got := result(m.Match(get("POST a/"), []byte(`{"kind":"no`), false)); got != "need payload" {
		t.Fatalf("got %s, want need payload", got)
	}
	if got := result(m.Match(get("POST a/"), []byte(`{"kind":"alarm"}`), true)); got != "alarm" {
		t.Errorf("the next request: got %s, want alarm", got)
	}
	if got := result(m.Continue(get("POST a/"), []byte(`{"kind":"alarm"}`), true)); got != "none" {
		t.Errorf("Continue without a search: got %s, want none", got)
	}
}
