package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/ids"
	"example.com/ferry/engine/internal/named"
	"example.com/ferry/internal/topic"
)

// scanStep is how many records are looked at under one hold of the lock of a stream.
const scanStep = 4096

// stream is one stream of an Engine.
type stream struct {
	completions *completions
	pending     atomic.Int64
	repeated    atomic.Uint64 // records that were not stored because of their IDs

	mu       sync.Mutex
	config   engine.Config
	log      log
	ids      ids.Known
	expiry   *time.Timer // calls expired; nil if there was no MaxAge yet
	expiring bool        // expiry runs
	named    named.Cursors
	open     map[*cursor]struct{}
	waiting  []*cursor // cursors to wake when a record is appended
	closing  bool      // the engine waits for the last calls of done
	err      error     // why the stream has ended
}

var (
	_ engine.Stream           = (*stream)(nil)
	_ engine.DuplicateCounter = (*stream)(nil)
)

func newStream(completions *completions, c engine.Config) *stream {
	s := &stream{
		completions: completions,
		log:         newLog(),
		named:       named.Cursors{},
		open:        map[*cursor]struct{}{},
	}
	s.configure(c)
	return s
}

// configure changes the Config, which effective has returned, and removes what exceeds its bounds.
func (s *stream) configure(c engine.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config = c
	s.log.bound(c.MaxBytes)
	s.log.trackTags(c.MaxPerTag > 0)
	s.ids.Configure(c.SharedIDs, c.MaxBytes)
	if c.MaxPerTag > 0 {
		for _, t := range s.log.tags {
			s.log.boundTag(t, c.MaxPerTag)
		}
	}
	s.retain()
	s.expire(time.Now().UnixNano())
}

func (s *stream) configured() engine.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// Append stores records at once. A goroutine calls done.
func (s *stream) Append(records []engine.Record, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refusesWork(); err != nil {
		s.completions.add(completion{done: done, err: err})
		return
	}
	now := max(time.Now().UnixNano(), s.log.lastStored) // AtTime searches by it
	var refused engine.AppendError
	var bytes int64
	for i := range records {
		r := &records[i]
		bytes += int64(len(r.Payload))
		if why := s.refusal(r); why != "" {
			refused.Refused = append(refused.Refused, i)
			refused.Why = why
			continue
		}
		id := ""
		if r.ID != "" {
			known := ids.New(r.Tag, r.ID, 0, now)
			if s.ids.Has(&known, s.config.DuplicateWindow) {
				s.repeated.Add(1)
				continue
			}
			id = known.ID()
			s.ids.Add(known)
		}
		s.log.append(r, now, id)
		if s.config.MaxPerTag > 0 {
			s.log.boundTag(s.log.tags[r.Tag], s.config.MaxPerTag)
		}
		s.retain()
	}
	s.expire(now)
	s.wake()
	s.pending.Add(bytes)
	call := completion{done: done, pending: &s.pending, bytes: bytes}
	if len(refused.Refused) > 0 {
		call.err = &engine.AppendError{Stream: s.config.Name, Refused: refused.Refused, Why: refused.Why}
	}
	s.completions.add(call)
}

// Duplicates returns how many records were not stored because of their IDs.
func (s *stream) Duplicates() uint64 { return s.repeated.Load() }

// refusesWork returns why the stream takes no more records and cursors, or nil.
func (s *stream) refusesWork() error {
	if s.err == nil && s.closing {
		return engine.ErrClosed
	}
	return s.err
}

// refusal says why the stream can never store a record. It is empty if it can.
func (s *stream) refusal(r *engine.Record) string {
	if cost := costOf(r); cost > s.config.MaxBytes {
		return fmt.Sprintf("a record of %d bytes exceeds the %d bytes that the stream may hold", cost, s.config.MaxBytes)
	}
	if s.log.tags[r.Tag] != nil {
		return ""
	}
	if err := s.config.CheckTag(r.Tag); err != nil {
		return err.Error()
	}
	return ""
}

// retain removes the oldest records until the stream is within its bounds of bytes and records.
func (s *stream) retain() {
	for s.log.bytes > s.config.MaxBytes || s.config.MaxRecords > 0 && s.log.records > uint64(s.config.MaxRecords) {
		s.log.removeOldest()
	}
}

// expire removes the records that are older than MaxAge. It runs again when the next one is, or a little later.
func (s *stream) expire(now int64) {
	if s.config.MaxAge == 0 {
		return
	}
	for e := s.oldest(); e != nil; e = s.oldest() {
		if age := time.Duration(now - e.stored); age < s.config.MaxAge {
			s.expireIn(max(s.config.MaxAge-age, min(s.config.MaxAge/16, time.Second)))
			return
		}
		s.log.removeOldest()
	}
}

func (s *stream) oldest() *entry { return s.log.at(s.log.left(place{})) }

// expireIn starts the timer, unless it runs. The timer frees memory: readers and Info remove old records themselves.
func (s *stream) expireIn(d time.Duration) {
	switch {
	case s.expiring:
		return
	case s.expiry == nil:
		s.expiry = time.AfterFunc(d, s.expired)
	default:
		s.expiry.Reset(d)
	}
	s.expiring = true
}

func (s *stream) expired() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expiring = false
	if s.err == nil {
		s.expire(time.Now().UnixNano())
	}
}

// wake wakes all cursors that wait for a record.
func (s *stream) wake() {
	for _, c := range s.waiting {
		c.waiting = false
		select {
		case c.woken <- struct{}{}:
		default:
		}
	}
	clear(s.waiting)
	s.waiting = s.waiting[:0]
}

// close has later calls of Append and Cursor fail.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}

// end removes the records and ends all cursors with err.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.log = newLog()
	s.ids = ids.Known{}
	if s.expiry != nil {
		s.expiry.Stop()
	}
	for c := range s.open {
		c.lose(err)
	}
	for _, n := range s.named {
		n.Free()
	}
	s.named = nil
	s.wake()
}

// Pending returns the bytes of the payloads whose done was not called yet.
func (s *stream) Pending() int { return int(s.pending.Load()) }

// Info returns the state of the stream.
func (s *stream) Info(context.Context) (engine.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return engine.Info{}, s.err
	}
	s.expire(time.Now().UnixNano())
	config := s.config
	config.Tags = slices.Clone(config.Tags)
	return engine.Info{
		Config:  config,
		Records: s.log.records,
		Bytes:   uint64(s.log.bytes),
		First:   s.log.first(),
		Last:    s.log.last,
		Pending: s.Pending(),
	}, nil
}

// Get returns a copy of the record with a sequence number.
func (s *stream) Get(_ context.Context, sequence uint64) (engine.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.find(sequence)
	if err != nil {
		return engine.Record{}, err
	}
	r := s.log.segments[p.segment].record(p.entry)
	r.Extension, r.Payload = slices.Clone(r.Extension), slices.Clone(r.Payload)
	return r, nil
}

// Newest returns the sequence number of the newest record that is left.
func (s *stream) Newest(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.expire(time.Now().UnixNano())
	if newest := s.log.newest(); newest > 0 {
		return newest, nil
	}
	return 0, engine.ErrNoRecord
}

// Remove removes the record with a sequence number.
func (s *stream) Remove(_ context.Context, sequence uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.find(sequence)
	if err == nil {
		s.log.remove(p)
	}
	return err
}

func (s *stream) find(sequence uint64) (place, error) {
	if s.err != nil {
		return place{}, s.err
	}
	s.expire(time.Now().UnixNano())
	p := s.log.seek(sequence)
	if e := s.log.at(p); e == nil || e.sequence != sequence {
		return place{}, engine.ErrNoRecord
	}
	return p, nil
}

// Purge removes the records that match filter and are below before.
func (s *stream) Purge(ctx context.Context, filter string, before uint64) (uint64, error) {
	if filter != "" {
		if err := topic.CheckFilter(filter); err != nil {
			return 0, err
		}
	}
	var removed uint64
	m := newMatcher(filter)
	err := s.scan(ctx, 1, before, func(e *entry) {
		if m.matches(e.tag) {
			s.log.remove(s.log.seek(e.sequence))
			removed++
		}
	})
	return removed, err
}

// scan calls visit for the records from sequence number from on and below before (0 means up to the newest one of now). It holds
// the lock during a call, and for at most scanStep records at a time. visit may remove the record.
func (s *stream) scan(ctx context.Context, from, before uint64, visit func(*entry)) error {
	step := func() (more bool, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err != nil {
			return false, s.err
		}
		if before == 0 {
			before = s.log.last + 1
		}
		for range scanStep {
			e := s.log.at(s.log.seek(from))
			if e == nil || e.sequence >= before {
				return false, nil
			}
			from = e.sequence + 1
			visit(e)
		}
		return true, nil
	}
	for {
		if more, err := step(); !more {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
