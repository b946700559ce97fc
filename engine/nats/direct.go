package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry/engine"
)

// directRequest asks for single messages of a stream (ADR-31 of NATS). Any replica responds, without the stream's queue.
type directRequest struct {
	Sequence uint64     `json:"seq,omitempty"`
	Start    *time.Time `json:"start_time,omitempty"`
	Next     string     `json:"next_by_subj,omitempty"` // the first message on that subject from Sequence or Start on
	Batch    int        `json:"batch,omitempty"`        // 1: from Sequence on, and the response counts the messages behind it
}

// direct returns the first message that the request asks for, or engine.ErrNoRecord.
func (s *stream) direct(ctx context.Context, r directRequest) (*natsgo.Msg, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	m, err := s.e.read.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+s.js(), body)
	if err != nil {
		return nil, err
	}
	switch status := m.Header.Get(hdrStatus); status {
	case "":
		return m, nil
	case "404", "204":
		return nil, engine.ErrNoRecord
	default:
		return nil, fmt.Errorf("engine: reading stream %q: status %s %s", s.name, status, m.Header.Get("Description"))
	}
}

// directRecord returns the record of a response.
func (s *stream) directRecord(m *natsgo.Msg) (engine.Record, error) {
	sequence, err := directSequence(m)
	if err != nil {
		return engine.Record{}, err
	}
	stored, err := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return engine.Record{}, fmt.Errorf("engine: response of the server: %w", err)
	}
	return s.record(m, m.Header.Get("Nats-Subject"), sequence, stored.UnixNano())
}

func directSequence(m *natsgo.Msg) (uint64, error) {
	sequence, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("engine: response of the server: %w", err)
	}
	return sequence, nil
}

// record returns the record of a message, or a *engine.CorruptError.
func (s *stream) record(m *natsgo.Msg, subject string, sequence uint64, stored int64) (engine.Record, error) {
	r, err := recordOf(m.Header, m.Data, sequence, stored)
	if err == nil {
		r.Tag, err = tagOf(subject)
	}
	if err != nil {
		return engine.Record{}, &engine.CorruptError{Stream: s.name, Sequence: sequence, Why: err.Error()}
	}
	return r, nil
}

// from returns the first sequence number at or behind a start: of a record that the stream has, or the next one that it stores.
func (s *stream) from(ctx context.Context, start engine.Start) (uint64, error) {
	switch start.At {
	case engine.AtFirst:
		return 1, nil
	case engine.AtSequence:
		return max(start.Sequence, 1), nil
	case engine.AtTime:
		sequence, copied, err := s.fromCopied(ctx, start.Time)
		if err != nil || sequence > 0 {
			return sequence, err
		}
		at := time.Unix(0, start.Time).UTC()
		sequence, err = request(ctx, s.e, func(ctx context.Context) (uint64, error) {
			m, err := s.direct(ctx, directRequest{Start: &at, Batch: 1})
			if err != nil {
				return 0, err
			}
			return directSequence(m)
		})
		if err != engine.ErrNoRecord { //nolint:errorlint // direct returns it as it is
			return max(sequence, copied+1), err
		}
	}
	info, err := s.jsInfo(ctx)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq + 1, nil
}

// fromCopied returns the first of the copied records that was stored at a time or later, as its header says, and 0 if there is none; and the
// number of the last copied record.
func (s *stream) fromCopied(ctx context.Context, at int64) (sequence, copied uint64, err error) {
	info, err := s.jsInfo(ctx)
	if err != nil {
		return 0, 0, err
	}
	if copied, err = strconv.ParseUint(info.Config.Metadata[metaCopied], 10, 64); err != nil {
		return 0, 0, nil // it is no copy
	}
	low, high := max(info.State.FirstSeq, 1), copied+1
	for low < high {
		middle := low + (high-low)/2
		m, err := request(ctx, s.e, func(ctx context.Context) (*natsgo.Msg, error) {
			return s.direct(ctx, directRequest{Sequence: middle, Batch: 1})
		})
		if err == engine.ErrNoRecord { //nolint:errorlint // direct returns it as it is
			high = middle
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		n, err := directSequence(m)
		if err != nil {
			return 0, 0, err
		}
		stored, err := strconv.ParseInt(m.Header.Get(hdrStored), 10, 64)
		if err != nil || n > copied || stored >= at { // a record without the header is behind the copy
			high = middle
		} else {
			low = n + 1
		}
	}
	if low > copied {
		return 0, copied, nil
	}
	return low, copied, nil
}
