package nats

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/ferry/engine"
)

const (
	mostDeleted = 200_000         // removed records of a stream, above which damaged ones are not searched for
	auditAfter  = time.Second     // a reader has waited so long for records that the server counts
	askEvery    = 2 * time.Second // at most, of a stream that removes the older records of each tag
)

// jsState is what the server knows of the sequence numbers of a stream.
type jsState struct {
	Messages   uint64   `json:"messages"`
	First      uint64   `json:"first_seq"`
	Last       uint64   `json:"last_seq"`
	NumDeleted int      `json:"num_deleted"`
	Deleted    []uint64 `json:"deleted"` // between First and Last
	Lost       *jsLost  `json:"lost"`    // found damaged by the server
}

type jsLost struct {
	Numbers []uint64 `json:"msgs"`
}

func (l *jsLost) sorted() []uint64 {
	numbers := slices.Clone(l.Numbers)
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// consistent reports whether Deleted has as many numbers as the stream lacks. The server may have stored a record meanwhile.
func (s *jsState) consistent() bool {
	return s.Messages == 0 || s.Messages+uint64(len(s.Deleted)) == s.Last-s.First+1
}

// state returns the numbers of removed records, too, unless they are more than mostDeleted.
func (s *stream) state(ctx context.Context) (jsState, error) {
	ask := func(details bool) (jsState, error) {
		return request(ctx, s.e, func(ctx context.Context) (jsState, error) {
			var out struct {
				State jsState `json:"state"`
			}
			err := s.e.api(ctx, "$JS.API.STREAM.INFO."+s.js(), map[string]bool{"deleted_details": details}, &out)
			return out.State, streamError(err)
		})
	}
	state, err := ask(false)
	if err != nil || state.NumDeleted == 0 || state.NumDeleted > mostDeleted {
		return state, err
	}
	if state, err = ask(true); err == nil {
		// After it has cut off a damaged block, the server repeats numbers, and takes others from the damaged bytes.
		slices.Sort(state.Deleted)
		end, found := slices.BinarySearch(state.Deleted, state.Last)
		if found {
			end++
		}
		state.Deleted = slices.Compact(state.Deleted[:end])
		if l := state.Lost; !state.consistent() && l != nil {
			if only := l.sorted(); state.Messages+uint64(len(only)) == state.Last-state.First+1 {
				state.Deleted = only
			}
		}
		state.NumDeleted = len(state.Deleted)
	}
	return state, err
}

// lost returns the numbers that the server knows to be damaged.
func (s *jsState) lost() ranges {
	if s.Lost == nil {
		return nil
	}
	return rangesOf(s.Lost.sorted())
}

// missing returns the records from first to last that the stream must have and the server does not deliver: it skips damaged
// records without a word. Those that were removed are not missing.
func (s *stream) missing(ctx context.Context, first, last uint64) (ranges, error) {
	gap := ranges{{First: first, Count: last - first + 1}}
	s.mu.Lock()
	removed, asked := s.removed, s.asked
	s.mu.Unlock()
	if len(gap.without(removed)) == 0 || s.config.Load().MaxPerTag > 0 && time.Since(asked) < askEvery {
		return nil, nil
	}
	state, err := s.state(ctx)
	if err != nil || state.NumDeleted > mostDeleted {
		return nil, err
	}
	removed = rangesOf(state.Deleted).without(state.lost())
	if state.First > 1 {
		removed = removed.with(ranges{{First: 1, Count: state.First - 1}})
	}
	s.mu.Lock()
	s.removed, s.asked = removed, time.Now()
	s.mu.Unlock()
	return gap.without(removed).within(first, min(last, state.Last)), nil
}

// audit reads the headers of all records from first to last and returns those that are missing.
func (s *stream) audit(ctx context.Context, first, last uint64, stop <-chan struct{}) (ranges, error) {
	r := reader{s: s, next: first, headersOnly: true}
	defer r.close()
	var all ranges
	for r.next <= last {
		from := r.next
		idle, cancel := context.WithTimeout(ctx, auditAfter)
		m, at, err := r.receive(idle, true, stop)
		cancel()
		if err != nil && (idle.Err() == nil || ctx.Err() != nil) {
			return nil, err
		}
		to := last
		if m != nil {
			to = min(at.sequence-1, last)
		}
		if from <= to {
			found, err := s.missing(ctx, from, to)
			if err != nil {
				return nil, err
			}
			all = all.with(found)
		}
		if m == nil {
			break // nothing behind
		}
	}
	return all, nil
}

// corrupt is the error for records that are missing.
func (s *stream) corrupt(r engine.Range) error {
	why := "its bytes do not match their checksum"
	if r.Count > 1 {
		why = fmt.Sprintf("the records up to %d are, too: a block of the store cannot be read", r.First+r.Count-1)
	}
	return &engine.CorruptError{Stream: s.name, Sequence: r.First, Why: why}
}
