package duration_test

import (
	"regexp"
	"testing"
	"time"

	"example.com/ferry/internal/duration"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"100ms": 100 * time.Millisecond, "1m30s": 90 * time.Second, "2h": 2 * time.Hour, "7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour,
		"12h1d": 36 * time.Hour, "0.1d": 144 * time.Minute, "-1d": -24 * time.Hour,
	} {
		if d, err := duration.Parse(text); d != want || err != nil {
			t.Errorf("%q: %v, %v, want %v", text, d, err, want)
		}
		if !regexp.MustCompile(duration.Pattern).MatchString(text) {
			t.Errorf("%q does not match Pattern", text)
		}
	}
	if d, err := duration.Parse(".5d"); d != 12*time.Hour || err != nil { // as time.ParseDuration reads .5h
		t.Errorf(".5d: %v, %v", d, err)
	}
	for _, text := range []string{"", "d", "1", "1D", "1 d", "-", "1d?", ".d", "1.5.5d", "200000d"} {
		if d, err := duration.Parse(text); err == nil {
			t.Errorf("%q: %v", text, d)
		}
	}
}
