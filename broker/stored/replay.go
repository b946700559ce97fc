package stored

import (
	"context"
	"errors"
	"sync/atomic"

	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/internal/routes"
	"example.com/ferry/broker/stats"
	"example.com/ferry/engine"
	"example.com/ferry/protocol/native"
)

// Limits of a call of engine.Cursor.Next.
const (
	readRecords = 1024
	readBytes   = 1 << 20 // of payload
)

// replay sends the records of a stream to one subscription, without acknowledgement. One goroutine reads them from the cursor and
// copies them to the writer of the client's stream, as far as credit and room allow.
type replay struct {
	sub    *Sub
	ctx    context.Context
	cancel context.CancelFunc
	more   chan struct{} // has one place: there may be credit

	credit int // bytes; guarded by the lock of sub.stream

	matchers routes.Matchers
	encoder  encoder
	chosen   []engine.Record // of a batch, those that match

	sent     stats.Counter
	skipped  atomic.Uint64
	damaged  atomic.Uint64
	sequence atomic.Uint64 // of the last record that was read
}

func newReplay(sub *Sub) *replay {
	formats := sub.stored.store.formats
	r := &replay{
		sub: sub, more: make(chan struct{}, 1), credit: sub.window, matchers: routes.NewMatchers(formats),
		encoder: encoder{formats: formats},
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// begin starts the goroutine, unless the broker has stopped.
func (r *replay) begin() {
	st := r.sub.stored
	st.mu.Lock()
	st.replays[r] = struct{}{}
	gone := st.gone.Load()
	st.mu.Unlock()
	if gone {
		r.sub.revoke(streamGone(st))
	}
	st.store.readers.Go(func() {
		r.run()
		st.mu.Lock()
		delete(st.replays, r)
		st.mu.Unlock()
	})
}

func (r *replay) stop() { r.cancel() }

func (r *replay) addCredit(n int) {
	r.sub.stream.Lock()
	r.credit = min(r.credit+n, outlet.MaxCredit)
	r.sub.stream.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
}

func (r *replay) run() {
	sub := r.sub
	c, err := sub.stored.config().Stream.Cursor(r.ctx, engine.CursorConfig{Filter: sub.filter, Start: sub.start, Holder: sub.stored.store.limits.Load().Holder})
	if err != nil {
		r.fail(err)
		return
	}
	for err == nil {
		var records []engine.Record
		if records, err = c.Next(r.ctx, readRecords, readBytes); err == nil {
			err = r.send(records)
		}
		var damaged *engine.CorruptError
		if errors.As(err, &damaged) {
			r.damaged.Add(1)
			sub.client.Log().Error("a stored message is damaged: it is left out", "stream", damaged.Stream, "sequence", damaged.Sequence, "err", err)
			err = nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = c.Close(ctx)
	r.fail(err)
}

// fail ends the subscription, unless its client has.
func (r *replay) fail(err error) {
	if r.ctx.Err() == nil {
		r.sub.revoke(readError(r.sub.stored, err))
	}
}

// send sends the records that match, in order. It waits for credit and room.
func (r *replay) send(records []engine.Record) error {
	r.sequence.Store(records[len(records)-1].Sequence)
	if records = r.matching(records); len(records) == 0 {
		return nil
	}
	s, cfg := r.sub.stream, r.sub.stored.config()
	for len(records) > 0 {
		if err := r.await(); err != nil {
			return err
		}
		n, bytes := 0, 0
		s.Lock()
		if s.Closed() {
			s.Unlock()
			<-r.ctx.Done() // the session ends soon, and its subscriptions with it
			return r.ctx.Err()
		}
		if s.Wire != nil {
			s.Select(r.sub.id)
		}
		for n < len(records) && r.credit > 0 && s.Room() > 0 {
			size := r.sendOne(cfg, &records[n])
			if size == 0 {
				break
			}
			bytes += size
			n++
		}
		s.UnlockLater()
		if records = records[n:]; len(records) == 0 {
			s.Flush()
		}
		r.sent.Add(n, bytes)
	}
	return nil
}

// sendOne sends one record to the client. It returns the bytes that were sent, or 0 if the client has not taken it. The caller holds the
// lock of the stream.
func (r *replay) sendOne(cfg *Config, record *engine.Record) int {
	s := r.sub.stream
	extension, _ := r.encoder.entries(cfg, record)
	if s.Client != nil {
		m := outlet.Message{Tag: record.Tag, Type: record.Type, Time: record.Time, Payload: record.Payload, Extension: extension, Sequence: record.Sequence}
		if !s.DeliverStored(r.sub.handle, m) {
			return 0
		}
		return storedSize(record, extension)
	}
	tail := s.Wire.Tail(storedSize(record, extension))
	before := len(tail)
	tail = native.AppendStoredPub(tail, storedHeader(record), native.Stored{Tag: record.Tag, Sequence: record.Sequence}, extension, record.Payload)
	s.Wire.SetTail(tail)
	r.credit -= len(tail) - before
	return len(tail) - before
}

// matching returns the records for which the predicate is true.
func (r *replay) matching(records []engine.Record) []engine.Record {
	if r.sub.predicate == nil {
		return records
	}
	r.chosen = r.chosen[:0]
	mismatches := uint64(0)
	for i := range records {
		ok, mismatch := r.matchers.Match(r.sub.predicate, records[i].Type, records[i].Payload)
		if ok {
			r.chosen = append(r.chosen, records[i])
		}
		if mismatch {
			mismatches++
		}
	}
	r.skipped.Add(uint64(len(records) - len(r.chosen)))
	if mismatches > 0 {
		r.sub.stored.store.mismatched.Add(mismatches)
	}
	return r.chosen
}

// await waits for credit and room.
func (r *replay) await() error {
	s := r.sub.stream
	for {
		s.Lock()
		credit, room, closed := r.credit > 0, s.Room() > 0, s.Closed()
		if credit && room || closed {
			s.Unlock()
			return nil
		}
		changed := r.more
		var roomy <-chan struct{}
		if !room {
			roomy = s.WaitRoom()
		}
		s.Unlock()
		s.Flush()
		select {
		case <-changed:
		case <-roomy:
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
}
