package cli

import (
	"fmt"
	"strconv"
	"time"

	"example.com/ferry/internal/duration"
	"example.com/ferry/stream"
)

// parseFrom reads --from: first, a sequence number, a time of RFC 3339, or how long before now.
func parseFrom(text string, now time.Time) (stream.From, error) {
	if text == "first" {
		return stream.FromFirst(), nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && n > 0 {
		return stream.FromSequence(n), nil
	}
	if ago, err := duration.Parse(text); err == nil && ago > 0 {
		return stream.FromTime(now.Add(-ago)), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return stream.FromTime(at), nil
	}
	return stream.From{}, fmt.Errorf("--from %q: want first, a sequence number from 1, a time such as 2026-11-22T10:00:00Z, or how long ago, such as 10m", text)
}
