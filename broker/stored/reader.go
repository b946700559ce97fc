package stored

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"time"

	"example.com/ferry/broker/internal/routes"
	delivery "example.com/ferry/broker/stored/internal/durable"
	"example.com/ferry/engine"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/clock"
	"example.com/ferry/protocol/native"
)

const (
	closeTimeout = 5 * time.Second // longest wait for the end of a cursor
	reopenAfter  = time.Second     // wait before a cursor is opened again after an error
)

// durableReader is the goroutine of a durable: it holds the cursor and reads records into the window.
type durableReader struct {
	*durable
	filter    string // of the members that it serves
	predicate *routes.Predicate
	matchers  routes.Matchers
	encoder   encoder
	batch     []delivery.Record
}

// run opens the cursor and reads, again and again, while the durable has members.
func (d *durable) run() {
	r := durableReader{durable: d, matchers: routes.NewMatchers(d.stored.store.formats), encoder: encoder{formats: d.stored.store.formats}}
	for {
		d.mu.Lock()
		if len(d.members) == 0 {
			d.running, d.cancel = false, nil
			d.mu.Unlock()
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		d.cancel = cancel
		d.ending = false
		r.filter, r.predicate = d.filter, d.predicate
		start := d.members[0].sub.start
		d.mu.Unlock()
		err := r.serve(ctx, start)
		if ctx.Err() == nil && !errors.Is(err, engine.ErrLost) {
			d.onError(ctx, err)
		}
		cancel()
	}
}

// onError handles an error of the engine. If the stream is gone, the subscriptions of all members end; otherwise the cursor is opened
// again a little later.
func (d *durable) onError(ctx context.Context, err error) {
	if isRefusal(err) {
		d.mu.Lock()
		members := append([]*member(nil), d.members...)
		d.mu.Unlock()
		for _, m := range members {
			m.sub.revoke(readError(d.stored, err))
		}
	} else {
		d.stored.store.limits.Load().Log.Warn("a durable cannot be read: trying again", "stream", d.stored.name(), "durable", d.name, "err", err)
	}
	select {
	case <-time.After(reopenAfter):
	case <-ctx.Done(): // the last member has left
	}
}

// streamGone is the reason for the end of subscriptions to a stream that is no longer configured.
func streamGone(st *Stream) error {
	return &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf("the node no longer stores the stream %q", st.name())}
}

// readError is what a client is told about an error of the engine.
func readError(st *Stream, err error) error {
	var conflict *engine.ConflictError
	var refused *native.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &conflict):
		return badRequest("durable %q exists with filter %q and predicate %q, not with filter %q and predicate %q: delete it, or name another one",
			conflict.Cursor, conflict.Filter, conflict.Where, conflict.Wanted.Filter, conflict.Wanted.Where)
	case errors.Is(err, engine.ErrNoStream):
		return streamGone(st)
	}
	return &native.Error{Code: native.CodeDraining, Reason: fmt.Sprintf("stream %q cannot be read: %v", st.name(), err)}
}

// serve opens the cursor, which waits until no other node holds it, and reads until ctx ends or the cursor fails.
func (r *durableReader) serve(ctx context.Context, start engine.Start) error {
	stream := r.stored.config().Stream
	cfg := engine.CursorConfig{Name: r.name, Filter: r.filter, Where: r.predicate.String(), Start: start, Holder: r.stored.store.limits.Load().Holder}
	c, err := stream.Cursor(ctx, cfg)
	if err != nil {
		return err
	}
	opened := r.openWindow(c)
	for opened && err == nil {
		err = r.readSome(ctx, c)
		var damaged *engine.CorruptError
		if errors.As(err, &damaged) {
			r.damaged.Add(1)
			r.stored.store.limits.Load().Log.Error("a stored message is damaged: it is left out", "stream", damaged.Stream, "durable", r.name, "sequence", damaged.Sequence, "err", err)
			err = nil
		}
	}
	if opened {
		if ctx.Err() != nil {
			r.awaitBuried()
		}
		r.closeWindow()
	}
	closing, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if e := c.Close(closing); e != nil && !errors.Is(err, engine.ErrLost) {
		r.stored.store.limits.Load().Log.Warn("the position of a durable may not be stored: some messages may be delivered again", "stream", r.stored.name(), "durable", r.name, "err", e)
	}
	return err
}

// openWindow begins to deliver to the members. It returns false if the members for which the cursor was opened have left. A member
// that has joined since then gets the next window, because this one would be closed while the member holds records.
func (d *durable) openWindow(c engine.Cursor) bool {
	d.mu.Lock()
	if d.ending {
		d.mu.Unlock()
		return false
	}
	d.cfg, d.limit = d.stored.config(), d.stored.store.limits.Load().DurableWindow
	d.window = delivery.New(d.windowConfig(), c.Position())
	d.cursor, d.committed, d.starved = c, 0, false
	maps.DeleteFunc(d.burials, func(sequence uint64, stored bool) bool { return stored && sequence <= c.Position().Floor })
	for _, m := range d.members {
		d.window.Join(m.state)
	}
	d.unlock(clock.Now())
	return true
}

// closeWindow commits the position and forgets what is not done. The members keep their credit.
func (d *durable) closeWindow() {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.window
	if p, ok := w.Position(); ok {
		d.cursor.Commit(p)
	}
	w.Discard()
	for _, m := range d.members {
		m.state = m.state.Renew()
	}
	d.release()
	d.window, d.cursor = nil, nil
}

// readSome waits for room, reads records and adds those that match to the window.
func (r *durableReader) readSome(ctx context.Context, c engine.Cursor) error {
	room, err := r.awaitRoom(ctx)
	if err != nil {
		return err
	}
	records, err := c.Next(ctx, min(room/delivery.MinMemory+1, readRecords), min(room/2, readBytes)) // a buffer may be twice as large as its content
	if err != nil {
		return err
	}
	r.batch = r.batch[:0]
	cfg := r.stored.config()
	mismatches := uint64(0)
	for i := range records {
		record := &records[i]
		if r.predicate != nil {
			ok, mismatch := r.matchers.Match(r.predicate, record.Type, record.Payload)
			if mismatch {
				mismatches++
			}
			if !ok {
				continue
			}
		}
		f, key := r.encoder.frame(cfg, record)
		if key == nil {
			r.batch = append(r.batch, delivery.Record{Sequence: record.Sequence, Key: maphash.String(keySeed, record.Tag), Content: f})
			continue
		}
		r.batch = append(r.batch, delivery.Record{Sequence: record.Sequence, Key: maphash.Bytes(keySeed, key), Content: f})
	}
	if mismatches > 0 {
		r.stored.store.mismatched.Add(mismatches)
	}
	r.skipped.Add(uint64(len(records) - len(r.batch)))
	last := records[len(records)-1].Sequence
	r.read.Store(last)
	r.add(last)
	return nil
}

// add adds the batch to the window. All records up to last were read.
func (r *durableReader) add(last uint64) {
	r.mu.Lock()
	r.configure()
	for _, record := range r.batch {
		r.window.Add(record)
	}
	r.window.ReadTo(last)
	r.unlock(clock.Now())
	clear(r.batch)
}

// awaitRoom waits until an eighth of the window is free, and returns how much is.
func (r *durableReader) awaitRoom(ctx context.Context) (int, error) {
	for {
		r.mu.Lock()
		r.configure()
		room := r.window.Room()
		r.starved = r.full()
		starved := r.starved
		r.mu.Unlock()
		if !starved {
			return room, nil
		}
		select {
		case <-r.room:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// deadLetter is a record that is never delivered again.
type deadLetter struct {
	delivery.DeadLetter
	content *bufpool.Buf // with a reference of its own
}
