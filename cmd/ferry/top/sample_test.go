package top

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
)

const metricsText = `# HELP ferry_messages_total Messages by tag.
# TYPE ferry_messages_total counter
ferry_messages_total{dir="in",tag="a"} 12
ferry_messages_total{dir="out",tag="a"} 1.2e+06
ferry_bytes_total{dir="in",tag="a"} 480
ferry_messages_total{dir="in",tag="b \"quoted\", {\\}\n"} 1
ferry_connections 3
ferry_messages_total{dir="in" 5
ferry_messages_total{dir="in",tag="c
go_goroutines 9 1395066363000
`

func TestReadMetrics(t *testing.T) {
	t.Parallel()
	var s Sample
	s.readMetrics([]byte(metricsText))
	want := []Tag{
		{Name: "a", In: Traffic{12, 480}, Out: Traffic{1_200_000, 0}},
		{Name: "b \"quoted\", {\\}\n", In: Traffic{1, 0}},
	}
	if !reflect.DeepEqual(s.Tags, want) {
		t.Errorf("got %+v, want %+v", s.Tags, want)
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{"/api/functions": `[{"name":"f"}]`, "/metrics": metricsText}
	get := func(_ context.Context, path string) ([]byte, error) {
		if b, ok := bodies[path]; ok {
			return []byte(b), nil
		}
		return nil, fmt.Errorf("%s: %w", path, ErrAbsent)
	}
	s, err := Take(t.Context(), get)
	if err != nil || s.Streams != nil || s.Proxy != nil || len(s.Functions) != 1 || len(s.Tags) != 2 {
		t.Errorf("got %+v, %v", s, err)
	}
	bodies["/api/proxy"] = `{"now":3}`
	if s, err = Take(t.Context(), get); err != nil || s.Proxy == nil || s.Proxy.Now != 3 {
		t.Errorf("got %+v, %v", s, err)
	}
	bodies["/api/streams"] = `{`
	if _, err = Take(t.Context(), get); err == nil {
		t.Error("a response that is not JSON is no error")
	}
	broken := errors.New("refused")
	if _, err = Take(t.Context(), func(context.Context, string) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{short(0), "0"},
		{short(999), "999"},
		{short(999.6), "1.00k"},
		{short(1234), "1.23k"},
		{short(12_345), "12.3k"},
		{short(9_999_999), "10.0M"},
		{short(5e15), "5000T"},
		{whole(1234567), "1,234,567"},
		{whole(12), "12"},
		{size(1023), "1.00 KiB"},
		{size(512), "512 B"},
		{size(1536), "1.50 KiB"},
		{size(5 << 40), "5 TiB"},
		{latency(0.00025), "250 us"},
		{latency(0.0123), "12.3 ms"},
		{latency(2), "2 s"},
		{percent(3), "3.0 %"},
		{plural(1, "tag"), "1 tag"},
		{plural(2, "tag"), "2 tags"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
