package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/node/admin"
	"example.com/ferry/protocol/native"
)

// replayWait is how long replaying waits for the next dead letter. All of them are stored: if none comes, retention or another
// replay has removed those that are missing.
const replayWait = 2 * time.Second

// replayBatch is how many dead letters are on their way to their streams at once.
const replayBatch = 256

// Replay appends dead letters of a stream to the streams that they come from, and removes each once it is stored there. The ID of
// a dead letter makes the stream store it once, even if the node stops in between. All durables of the stream get the message, not
// only the one that failed.
func (s *storedStreams) Replay(ctx context.Context, stream string, sequences []uint64) (replayed int, err error) {
	letters, ok := s.find(stream)
	if !ok {
		return 0, fmt.Errorf("%w: %s", admin.ErrNoStream, stream)
	}
	if sequences != nil {
		return s.replayEach(ctx, letters, sequences)
	}
	return s.replayAll(ctx, letters)
}

// replayEach replays the dead letters with these numbers.
func (s *storedStreams) replayEach(ctx context.Context, letters storedStream, sequences []uint64) (replayed int, err error) {
	for _, sequence := range sequences {
		record, err := letters.stream.Get(ctx, sequence)
		if err != nil {
			return replayed, fmt.Errorf("record %d of stream %s: %w", sequence, letters.config.Name, err)
		}
		r := s.newReplay(letters)
		if !r.add(record) {
			return replayed, fmt.Errorf("%w: record %d of stream %s is no dead letter of a stream of this node", engine.ErrNoRecord, sequence, letters.config.Name)
		}
		n, err := r.finish(ctx)
		replayed += n
		if err != nil {
			return replayed, err
		}
	}
	return replayed, nil
}

// replayAll replays the dead letters that are stored now, not those that come meanwhile: a message that fails again is replayed
// once.
func (s *storedStreams) replayAll(ctx context.Context, letters storedStream) (replayed int, err error) {
	info, err := letters.stream.Info(ctx)
	if err != nil || info.Records == 0 {
		return 0, err
	}
	cursor, err := letters.stream.Cursor(ctx, engine.CursorConfig{Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		return 0, err
	}
	defer func() { _ = cursor.Close(ctx) }() // it has no position to store
	for seen := uint64(0); seen < info.Records; {
		wait, cancel := context.WithTimeout(ctx, replayWait)
		records, err := cursor.Next(wait, int(min(replayBatch, info.Records-seen)), 1<<20)
		cancel()
		var damaged *engine.CorruptError
		switch {
		case errors.As(err, &damaged):
			seen++
			continue
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return replayed, nil
		case err != nil:
			return replayed, err
		}
		r := s.newReplay(letters)
		for _, record := range records {
			seen++
			if record.Sequence > info.Last { // retention has removed some that were counted
				seen = info.Records
				break
			}
			r.add(record)
		}
		n, err := r.finish(ctx)
		replayed += n
		if err != nil {
			return replayed, err
		}
	}
	return replayed, nil
}

// replay is some dead letters on their way.
type replay struct {
	streams *storedStreams
	letters storedStream
	count   int
	stored  chan replayedLetter // has room for all of them
}

// replayedLetter is the number of a dead letter, and why it cannot be stored where it comes from.
type replayedLetter struct {
	sequence uint64
	err      error
}

func (s *storedStreams) newReplay(letters storedStream) *replay {
	return &replay{streams: s, letters: letters, stored: make(chan replayedLetter, replayBatch)}
}

// add appends a dead letter to the stream that it comes from. It returns false for another record. record is valid during the call.
func (r *replay) add(record engine.Record) bool {
	letter, rest, ok := cutDeadLetter(record.Extension)
	if !ok {
		return false
	}
	origin, ok := r.streams.find(letter.Stream)
	if !ok {
		return false
	}
	sequence := record.Sequence
	record.Tag, record.Extension = letter.Tag, rest
	r.count++
	origin.stream.Append([]engine.Record{record}, func(err error) { r.stored <- replayedLetter{sequence, err} })
	return true
}

// finish waits until all are stored, removes them from the dead letters, and returns how many there were. A dead letter that is
// not stored stays.
func (r *replay) finish(ctx context.Context) (replayed int, err error) {
	for range r.count {
		select {
		case one := <-r.stored:
			if one.err == nil {
				one.err = r.letters.stream.Remove(ctx, one.sequence)
			}
			if one.err != nil && !errors.Is(one.err, engine.ErrNoRecord) {
				err = errors.Join(err, fmt.Errorf("dead letter %d: %w", one.sequence, one.err))
				continue
			}
			replayed++
		case <-ctx.Done():
			return replayed, errors.Join(err, ctx.Err())
		}
	}
	return replayed, err
}

// cutDeadLetter returns what an extension says of a dead letter, and the extension without it.
func cutDeadLetter(extension []byte) (letter native.DeadLetter, rest []byte, ok bool) {
	for t, value := range native.TLVs(extension) {
		if t == native.TLVDeadLetter {
			letter, ok = native.ParseDeadLetter(value)
			continue
		}
		rest = native.AppendTLV(rest, t, value)
	}
	return letter, rest, ok
}
