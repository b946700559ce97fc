package nats

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	mostSearched = 10_000 // records of others, among which an attempt is searched for
	searchWithin = time.Second
	settleAfter  = 50 * time.Millisecond
)

// settle finds out what an attempt has stored whose acknowledgement did not come. The server may store it even later. So the
// appender looks for the first doubtful records of the queue in what was stored since the last acknowledgement, and has the server
// refuse the next attempt unless the stream still ends where it has looked. It returns how many records are stored. Only an attempt
// that the server reads from a lost connection after the next attempt is stored a second time; settleAfter makes that rare.
func (a *appender) settle(queue []entry) (stored int, err error) {
	a.pause(settleAfter)
	ctx, cancel := context.WithTimeout(context.Background(), searchWithin)
	defer cancel()
	state, err := a.s.batchState(ctx)
	if err != nil {
		return 0, err
	}
	from := a.last + 1
	if state.Last >= from+mostSearched {
		a.settled() // it cannot be told: the records may be stored twice
		return 0, nil
	}
	if state.Last >= from {
		if stored, err = a.search(ctx, queue[:min(a.doubtful, len(queue))], from, state.Last); err != nil {
			return 0, err
		}
	}
	a.expecting, a.expected = true, state.Last
	if stored > 0 {
		a.last = state.Last
		a.settled()
	}
	return stored, nil
}

// settled ends the doubt.
func (a *appender) settled() { a.doubtful, a.expecting, a.conflicts = 0, false, 0 }

// search counts the records of the queue that the stream has. Attempts store them in order.
func (a *appender) search(ctx context.Context, queue []entry, from, to uint64) (stored int, err error) {
	r := reader{s: a.s, next: from}
	defer r.close()
	for pending := uint64(0); r.next <= to; {
		if pending == 0 { // the reader would wait for records that were removed
			if more, err := a.s.hasFrom(ctx, r.next); err != nil || !more {
				return stored, err
			}
		}
		m, at, err := r.receive(ctx, true, a.s.ending)
		if err != nil {
			return 0, err
		}
		pending = at.pending
		for stored < len(queue) && queue[stored].skip {
			stored++
		}
		if stored < len(queue) && queue[stored].is(m) {
			stored++
		}
	}
	return stored, nil
}

func (e *entry) is(m *natsgo.Msg) bool {
	return m.Subject == e.subject && first(m.Header, hdrTime) == strconv.FormatInt(e.record.Time, 10) && bytes.Equal(m.Data, e.record.Payload)
}

// hasFrom reports whether the stream has a record with that sequence number or a greater one, as its leader knows.
func (s *stream) hasFrom(ctx context.Context, sequence uint64) (bool, error) {
	in := struct {
		Sequence uint64 `json:"seq"`
		Next     string `json:"next_by_subj"`
	}{sequence, ">"}
	err := s.e.api(ctx, "$JS.API.STREAM.MSG.GET."+s.js(), in, nil)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeNoMessage {
		return false, nil
	}
	return err == nil, streamError(err)
}

const codeNoMessage = 10037

// batchState returns where the stream ends, between two batches. The server counts the records of a batch one by one while it writes them,
// but sends a single record only when the batch is complete. While others append all the time, the state may be amid a batch of theirs.
func (s *stream) batchState(ctx context.Context) (state jsState, err error) {
	if state, err = s.endState(ctx); err != nil {
		return state, err
	}
	for range mostConflicts {
		before := state.Last
		if _, err = s.hasFrom(ctx, max(before, 1)); err != nil {
			return state, err
		}
		if state, err = s.endState(ctx); err != nil || state.Last == before {
			return state, err
		}
	}
	return state, nil
}

// endState returns where the stream ends, as its leader knows.
func (s *stream) endState(ctx context.Context) (jsState, error) {
	var out struct {
		State jsState `json:"state"`
	}
	err := s.e.api(ctx, "$JS.API.STREAM.INFO."+s.js(), nil, &out)
	return out.State, streamError(err)
}
