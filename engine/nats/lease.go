package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
)

const (
	renewEvery  = 500 * time.Millisecond
	loseAfter   = 1500 * time.Millisecond // a holder that could not renew for so long stops
	takeAfter   = 2 * time.Second         // an entry that did not change for so long has lost its holder
	lookEvery   = 100 * time.Millisecond
	renewWithin = time.Second // of one attempt
)

// cursorEntry is the value of a named cursor in its bucket. Every write is a compare-and-set of the entry's revision. So the revision is
// a lease, too: a holder writes at least every renewEvery, and an opener that has seen the same revision for takeAfter by its own
// clock takes the cursor.
type cursorEntry struct {
	Filter  string      `json:"filter,omitempty"`
	Where   *string     `json:"where,omitempty"` // nil: a version that did not store it has made the entry, and the next holder sets it
	Owner   string      `json:"owner,omitempty"`
	Floor   uint64      `json:"floor"`
	Done    [][2]uint64 `json:"done,omitempty"`       // first and count
	Counts  [][2]uint64 `json:"deliveries,omitempty"` // sequence number and count
	Holder  string      `json:"holder,omitempty"`
	Session string      `json:"session,omitempty"` // "": free
	Term    uint64      `json:"term"`              // how often the cursor was taken
}

// newEntry returns the entry of a cursor that is made.
func newEntry(c engine.CursorConfig, from uint64) cursorEntry {
	return cursorEntry{Filter: c.Filter, Where: &c.Where, Owner: c.Owner, Floor: from - 1}
}

// checkKept returns an error if c asks for another filter or predicate than the cursor has.
func (e *cursorEntry) checkKept(c engine.CursorConfig) error {
	where := c.Where
	if e.Where != nil {
		where = *e.Where
	}
	return c.CheckKept(e.Filter, where)
}

func (e *cursorEntry) position() engine.Position {
	p := engine.Position{Floor: e.Floor}
	for _, d := range e.Done {
		p.Done = append(p.Done, engine.Range{First: d[0], Count: d[1]})
	}
	for _, d := range e.Counts {
		p.Deliveries = append(p.Deliveries, engine.Deliveries{Sequence: d[0], Count: uint32(d[1])})
	}
	return p
}

func (e *cursorEntry) set(p engine.Position) {
	e.Floor, e.Done, e.Counts = p.Floor, nil, nil
	for _, r := range p.Done {
		e.Done = append(e.Done, [2]uint64{r.First, r.Count})
	}
	for _, d := range p.Deliveries {
		e.Counts = append(e.Counts, [2]uint64{d.Sequence, uint64(d.Count)})
	}
}

// lease is a named cursor that this process holds. One goroutine writes its entry:
//
//	hold ──► held ──release──► freeing ──► ended
//	          └── not renewed in time, or taken: lost ──► ended
type lease struct {
	s       *stream
	name    string
	session string
	kv      jetstream.KeyValue
	lost    func(error)
	wake    chan struct{} // a position was committed, or release was called
	ended   chan struct{}
	began   engine.Position // with which hold has returned

	// The fields of the goroutine, which begins when hold returns.
	entry    cursorEntry
	revision uint64
	renewed  time.Time // when the last successful write began: others may have seen its revision since then

	mu      sync.Mutex
	next    *engine.Position // committed and not written
	freeing context.Context  //nolint:containedctx // of release; nil before
	err     error            // of the last write
}

// hold takes a named cursor. It waits until the cursor is free. lost is called at most once.
func (s *stream) hold(ctx context.Context, c engine.CursorConfig, lost func(error)) (*lease, error) {
	kv, err := s.cursorBucket(ctx, true)
	if err != nil {
		return nil, err
	}
	l := &lease{
		s: s, name: c.Name, session: s.e.session + "." + strconv.FormatUint(s.e.serial.Add(1), 36),
		kv: kv, lost: lost, wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	var seen uint64
	var since time.Time
	for {
		old, revision, err := l.read(ctx)
		if err != nil {
			return nil, err
		}
		if revision != seen || since.IsZero() {
			seen, since = revision, time.Now()
		}
		if revision > 0 {
			if err := old.checkKept(c); err != nil {
				return nil, err
			}
		}
		if revision == 0 || old.Session == "" || time.Since(since) >= takeAfter {
			if revision == 0 {
				from, err := s.from(ctx, c.Start)
				if err != nil {
					return nil, err
				}
				old = newEntry(c, from)
			} else if old.Term > 0 { // otherwise it may begin behind the end of the stream
				if err := s.clamp(ctx, &old); err != nil {
					return nil, err
				}
			}
			old.Where = &c.Where
			old.Session, old.Holder, old.Term = l.session, c.Holder, old.Term+1
			l.entry, l.revision, l.began = old, revision, old.position()
			ok, err := l.write(ctx)
			if ok {
				go l.run()
				return l, nil
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return nil, fmt.Errorf("cursor %q of stream %q is held by %q: %w", c.Name, s.name, old.Holder, ctx.Err())
		case <-s.ending:
			return nil, s.endError()
		}
	}
}

// clamp takes out of a position what lies behind the end of the stream. A stream whose machine has lost power can have lost
// its last records, and gives their numbers to others.
func (s *stream) clamp(ctx context.Context, entry *cursorEntry) error {
	info, err := s.jsInfo(ctx)
	if err != nil {
		return err
	}
	entry.clamp(info.State.LastSeq)
	return nil
}

// clamp reports whether it has changed the entry.
func (e *cursorEntry) clamp(last uint64) bool {
	p := e.position()
	if !p.Clamp(last) {
		return false
	}
	e.set(p)
	return true
}

// read returns the entry. Revision 0 means that there is none.
func (l *lease) read(ctx context.Context) (entry cursorEntry, revision uint64, err error) {
	return readCursor(ctx, l.s.e, l.kv, l.name)
}

func readCursor(ctx context.Context, e *Engine, kv jetstream.KeyValue, name string) (entry cursorEntry, revision uint64, err error) {
	got, err := request(ctx, e, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return kv.Get(ctx, name) })
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return cursorEntry{}, 0, nil
	}
	if err != nil {
		return cursorEntry{}, 0, err
	}
	if err := json.Unmarshal(got.Value(), &entry); err != nil {
		return cursorEntry{}, 0, fmt.Errorf("engine: entry of cursor %q: %w", name, err)
	}
	return entry, got.Revision(), nil
}

// write stores l.entry if the revision is still l.revision. It returns false if it is not.
func (l *lease) write(ctx context.Context) (bool, error) {
	value, err := json.Marshal(l.entry)
	if err != nil {
		return false, err
	}
	var began time.Time
	revision, err := request(ctx, l.s.e, func(ctx context.Context) (uint64, error) {
		began = time.Now()
		if l.revision == 0 {
			return l.kv.Create(ctx, l.name, value)
		}
		return l.kv.Update(ctx, l.name, value, l.revision)
	})
	if isConflict(err) {
		// An earlier attempt may have succeeded without this process learning it.
		now, revision, err := l.read(ctx)
		if err != nil {
			return false, err
		}
		switch {
		case revision == l.revision || now.Session == l.session:
			l.revision = revision
			return l.write(ctx)
		case l.entry.Session == "" && now.Session == "" && now.Term == l.entry.Term:
			return true, nil
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.revision, l.renewed = revision, began
	return true, nil
}

func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &api) && (api.ErrorCode == codeWrongLast || api.ErrorCode == codeWrongLastConst)
}

// commit has the goroutine store p.
func (l *lease) commit(p engine.Position) {
	p = p.Clone()
	l.mu.Lock()
	l.next = &p
	l.mu.Unlock()
	l.kick()
}

func (l *lease) kick() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// release stores the last position and frees the cursor.
func (l *lease) release(ctx context.Context) error {
	l.mu.Lock()
	if l.freeing == nil {
		l.freeing = ctx
	}
	l.mu.Unlock()
	l.kick()
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// run renews the lease until it is released or lost.
func (l *lease) run() {
	defer close(l.ended)
	timer := time.NewTimer(renewEvery)
	defer timer.Stop()
	for {
		select {
		case <-l.wake:
		case <-timer.C:
		}
		l.mu.Lock()
		ctx, position := l.freeing, l.next
		l.next = nil
		l.mu.Unlock()
		if position != nil {
			l.entry.set(*position)
		}
		if ctx != nil {
			l.free(ctx)
			return
		}
		attempt, cancel := context.WithTimeout(context.Background(), l.within())
		ok, err := l.write(attempt)
		cancel()
		switch {
		case ok:
			timer.Reset(renewEvery)
		case err == nil, time.Since(l.renewed) >= loseAfter:
			l.lost(engine.ErrLost)
			return
		default:
			timer.Reset(lookEvery)
		}
	}
}

// within is how long the next attempt may take. It ends before another process can take the cursor. A process that was stopped for
// longer makes a short one: if it succeeds, no other holds the cursor.
func (l *lease) within() time.Duration {
	return min(renewWithin, max(time.Until(l.renewed.Add(loseAfter)), lookEvery))
}

// free writes the last position without a session.
func (l *lease) free(ctx context.Context) {
	l.entry.Session, l.entry.Holder = "", ""
	_, err := l.write(ctx)
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
}
