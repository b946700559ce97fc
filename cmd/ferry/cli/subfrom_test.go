package cli

import (
	"testing"
	"time"

	"example.com/ferry/stream"
)

func TestParseFrom(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]stream.From{
		"first":                     stream.FromFirst(),
		"7":                         stream.FromSequence(7),
		"90s":                       stream.FromTime(now.Add(-90 * time.Second)),
		"1h30m":                     stream.FromTime(now.Add(-90 * time.Minute)),
		"2026-11-22T09:00:00Z":      stream.FromTime(now.Add(-time.Hour)),
		"2026-11-22T09:00:00+01:00": stream.FromTime(now.Add(-2 * time.Hour)),
	} {
		if got, err := parseFrom(text, now); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "-5m", "0s", "last", "2026-11-22", "7 records"} {
		if got, err := parseFrom(text, now); err == nil {
			t.Errorf("%s: read as %+v", text, got)
		}
	}
}
