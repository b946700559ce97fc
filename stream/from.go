package stream

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"example.com/ferry/internal/naming"
	"example.com/ferry/protocol/native"
)

// From is the place in a stream where a function begins. The zero value means new messages: those of the stream if the function has
// a Durable, otherwise live ones, which come from their sources without being read from a stream.
type From struct {
	start native.Start
	value uint64
}

// FromFirst begins at the oldest message that the stream has.
func FromFirst() From { return From{start: native.StartFirst} }

// FromSequence begins at the message with sequence number n, or at the next one if the stream has none with that number. Without a
// durable, it begins with new messages if n is above their numbers.
func FromSequence(n uint64) From { return From{native.StartSequence, n} }

// FromTime begins at the first message that was stored at t or later.
func FromTime(t time.Time) From { return From{native.StartTime, uint64(max(0, t.UnixNano()))} }

// ParseFrom parses first, new, a sequence number, or a time as in RFC 3339.
func ParseFrom(s string) (From, error) {
	switch s {
	case "first":
		return FromFirst(), nil
	case "new":
		return From{start: native.StartNew}, nil
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return FromSequence(n), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return From{}, fmt.Errorf("stream: %q is no place in a stream: want first, new, a sequence number, or a time such as 2026-01-02T15:04:05Z", s)
	}
	return FromTime(t), nil
}

// checkStored checks the fields of a function that reads a stream.
func (f *Function) checkStored() error {
	stored := f.Durable != "" || f.From != From{}
	switch {
	case !stored:
		return nil
	case f.Durable != "" && !naming.Valid(f.Durable):
		return fmt.Errorf("stream: Function.Durable is %q: want 1 to 64 letters, digits, hyphens and underscores", f.Durable)
	case f.Durable != "" && len(f.Observe) > 1:
		return fmt.Errorf("stream: Function.Observe has %d filters: a function with a Durable has one", len(f.Observe))
	case f.Group != "":
		return fmt.Errorf("stream: Function.Group is %q: a function that reads a stream shares messages by its Durable", f.Group)
	case f.Addressed:
		return errors.New("stream: Function.Addressed is set: addressed messages are not stored, so remove Durable and From")
	case f.Policy != Block || f.Queue != 0:
		return fmt.Errorf("stream: Function has policy %v and Queue %d: messages of a stream wait in the stream, so remove them", f.Policy, f.Queue)
	}
	return nil
}
