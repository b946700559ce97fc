package nats

import (
	"context"
	"errors"

	"example.com/ferry/engine"
)

// Newest implements engine.Stream. The server finds the first record from a number on, so this is a binary search. It begins at the
// end, where the newest record mostly is.
func (s *stream) Newest(ctx context.Context) (uint64, error) {
	info, err := s.jsInfo(ctx)
	if err != nil {
		return 0, err
	}
	newest, err := newestIn(info.State.FirstSeq, info.State.LastSeq, func(from uint64) (uint64, error) {
		return request(ctx, s.e, func(ctx context.Context) (uint64, error) {
			m, err := s.direct(ctx, directRequest{Sequence: max(from, 1), Batch: 1})
			if err != nil {
				return 0, err
			}
			return directSequence(m)
		})
	})
	if err == nil && newest == 0 {
		err = engine.ErrNoRecord
	}
	return newest, err
}

// newestIn returns the greatest sequence number of a record, from first to last or above; 0 if there is none. next returns that of
// the first record from a number on, or engine.ErrNoRecord.
func newestIn(first, last uint64, next func(from uint64) (uint64, error)) (newest uint64, err error) {
	for at := last; first <= last; at = first + (last-first)/2 {
		sequence, err := next(at)
		switch {
		case errors.Is(err, engine.ErrNoRecord) && at == 0:
			return newest, nil
		case errors.Is(err, engine.ErrNoRecord):
			last = at - 1
		case err != nil:
			return 0, err
		default:
			newest, first = sequence, sequence+1
		}
	}
	return newest, nil
}
