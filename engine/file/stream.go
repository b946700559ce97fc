package file

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/ids"
	"example.com/ferry/engine/internal/named"
	"example.com/ferry/engine/log"
	"example.com/ferry/internal/topic"
)

// The bytes of a segment.
const (
	minSegment = 64 << 10
	maxSegment = 16 << 20
)

// stream is one stream of an Engine.
type stream struct {
	engine    *Engine
	dir       string
	log       *log.Log
	positions positions
	pending   atomic.Int64
	repeated  atomic.Uint64 // records that were not stored because of their IDs
	window    atomic.Int64  // config.DuplicateWindow

	mu       sync.Mutex // taken before the lock of log
	config   engine.Config
	allowed  map[string]bool // tags that match config.Tags; the last ones
	ids      ids.Known
	idsKept  uint64                 // the records of all IDs are in segments from this number on
	perTag   map[string]*tagRecords // nil without MaxPerTag
	expiry   *time.Timer            // calls expired; nil if there was no MaxAge yet
	expiring bool                   // expiry runs
	named    named.Cursors
	open     map[*cursor]struct{}
	waiting  []*cursor // cursors to wake when a record is stored
	err      error     // why the stream takes no more work
}

var (
	_ engine.Stream           = (*stream)(nil)
	_ engine.DuplicateCounter = (*stream)(nil)
)

// now returns the time that a record gets, in Unix nanoseconds.
func now() int64 { return time.Now().UnixNano() }

// openStream opens the stream of a directory, and removes what exceeds the bounds of c.
func openStream(e *Engine, dir string, c engine.Config) (*stream, error) {
	s := &stream{engine: e, dir: dir, named: named.Cursors{}, open: map[*cursor]struct{}{}}
	s.positions.path = filepath.Join(dir, positionsName)
	size := int64(maxSegment)
	if c.MaxBytes > 0 {
		size = min(max(c.MaxBytes/8, minSegment), maxSegment)
	}
	options := log.Config{
		Store: log.Dir(dir), SegmentSize: size, Room: e.space.room, Stored: s.stored,
		IDsAfter: func() int64 { return now() - s.window.Load() },
		Failed:   func(what string, err error) { e.config.Log.Warn(what, "stream", c.Name, "err", err) },
	}
	if e.config.Sync == engine.SyncInterval {
		options.Interval = e.config.Interval
	}
	s.window.Store(int64(c.DuplicateWindow))
	var err error
	if s.log, err = log.Open(options); err != nil {
		return nil, err
	}
	if err = s.loadCursors(); err == nil {
		err = s.configure(c)
	}
	if err != nil {
		return nil, errors.Join(err, s.close(context.Background()))
	}
	return s, nil
}

// configure changes the Config, which effective has returned, and removes what exceeds its bounds.
func (s *stream) configure(c engine.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.config
	s.config, s.allowed = c, map[string]bool{}
	s.window.Store(int64(c.DuplicateWindow))
	if before.Name == "" || before.SharedIDs != c.SharedIDs || before.DuplicateWindow < c.DuplicateWindow {
		if err := s.loadIDs(); err != nil {
			return err
		}
	}
	if err := s.trackTags(); err != nil {
		return err
	}
	s.retain()
	return nil
}

func (s *stream) configured() engine.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// Append stores records with others that have gathered meanwhile.
func (s *stream) Append(records []engine.Record, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		go done(s.err)
		return
	}
	stored := now()
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
		var id ids.ID
		if r.ID != "" {
			if id = ids.New(r.Tag, r.ID, 0, stored); s.ids.Has(&id, s.config.DuplicateWindow) {
				s.repeated.Add(1)
				continue
			}
		}
		n := s.log.Append(r, stored)
		if r.ID != "" {
			id.Sequence, id.Kept = n, n
			s.ids.Add(id)
		}
	}
	s.pending.Add(bytes)
	var err error
	if len(refused.Refused) > 0 {
		err = &engine.AppendError{Stream: s.config.Name, Refused: refused.Refused, Why: refused.Why}
	}
	s.log.Commit(s.settled(bytes, err, done))
}

// settled returns what is called when records of so many bytes are stored, of which err says that some never can be.
func (s *stream) settled(bytes int64, err error, done func(error)) func(error) {
	return func(failed error) {
		s.pending.Add(-bytes)
		if failed != nil {
			done(s.cause(failed))
			return
		}
		done(err)
	}
}

// refusal says why the stream can never store a record. It is empty if it can.
func (s *stream) refusal(r *engine.Record) string {
	if cost := log.Cost(r); s.config.MaxBytes > 0 && cost > s.config.MaxBytes {
		return fmt.Sprintf("a record of %d bytes exceeds the %d bytes that the stream may hold", cost, s.config.MaxBytes)
	}
	if err := log.Check(r); err != nil {
		return err.Error()
	}
	if s.allowed[r.Tag] {
		return ""
	}
	if err := s.config.CheckTag(r.Tag); err != nil {
		return err.Error()
	}
	if len(s.allowed) == maxTags {
		clear(s.allowed)
	}
	s.allowed[strings.Clone(r.Tag)] = true
	return ""
}

// stored is called by the log when records are stored, before it calls done.
func (s *stream) stored(records []log.Stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.perTag != nil {
		for _, r := range records {
			s.boundTag(r)
		}
	}
	s.retain()
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

// Duplicates returns how many records were not stored because of their IDs.
func (s *stream) Duplicates() uint64 { return s.repeated.Load() }

// Pending returns the bytes of the payloads whose done was not called yet.
func (s *stream) Pending() int { return int(s.pending.Load()) }

// Info returns the state of the stream.
func (s *stream) Info(context.Context) (engine.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return engine.Info{}, s.err
	}
	s.expire()
	state := s.log.State()
	c := s.config
	c.Tags = slices.Clone(c.Tags)
	return engine.Info{
		Config: c, Records: state.Records, Bytes: uint64(state.Bytes), First: state.First, Last: state.Last, Pending: s.Pending(), Err: state.Err,
	}, nil
}

// Newest returns the sequence number of the newest record that is left.
func (s *stream) Newest(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.expire()
	if n := s.log.State().Newest; n > 0 {
		return n, nil
	}
	return 0, engine.ErrNoRecord
}

// Get returns the record with a sequence number.
func (s *stream) Get(_ context.Context, sequence uint64) (engine.Record, error) {
	s.mu.Lock()
	err := s.err
	if err == nil {
		s.expire()
	}
	s.mu.Unlock()
	if err != nil {
		return engine.Record{}, err
	}
	r := s.log.Reader(sequence, nil)
	defer r.Close()
	v, err := r.Read(true)
	var damage *log.DamageError
	switch {
	case errors.As(err, &damage) && damage.Sequence == sequence:
		return engine.Record{}, s.corrupt(sequence)
	case err != nil && !errors.Is(err, errEnd) && damage == nil:
		return engine.Record{}, s.cause(err)
	case err != nil || v.Sequence() != sequence:
		return engine.Record{}, engine.ErrNoRecord
	}
	return v.Record(string(v.Tag())), nil // the buffer is not used again
}

// corrupt returns the error of a damaged record.
func (s *stream) corrupt(sequence uint64) error {
	return &engine.CorruptError{Stream: filepath.Base(s.dir), Sequence: sequence, Why: "the sums of its bytes are wrong, or they are missing"}
}

// Remove removes the record with a sequence number.
func (s *stream) Remove(ctx context.Context, sequence uint64) error {
	r, err := s.Get(ctx, sequence)
	if err != nil {
		return err
	}
	s.mu.Lock()
	removed := s.remove(log.Stored{Sequence: sequence, Tag: r.Tag, Cost: log.Cost(&r)})
	s.mu.Unlock()
	if !removed {
		return engine.ErrNoRecord
	}
	return s.settle(ctx)
}

// remove removes a record. The caller holds the lock.
func (s *stream) remove(r log.Stored) bool {
	if !s.log.Remove(r) {
		return false
	}
	s.untrack(r)
	s.keepIDs(s.log.State())
	return true
}

// settle returns when what was removed is stored.
func (s *stream) settle(ctx context.Context) error {
	stored := make(chan error, 1)
	s.log.Commit(func(err error) { stored <- err })
	select {
	case err := <-stored:
		return s.cause(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Purge removes the records that match filter and are below before.
func (s *stream) Purge(ctx context.Context, filter string, before uint64) (removed uint64, err error) {
	if filter != "" {
		if err := topic.CheckFilter(filter); err != nil {
			return 0, err
		}
	}
	err = s.scan(ctx, filter, 1, before, func(v *log.View, tag string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.remove(log.Stored{Sequence: v.Sequence(), Tag: tag, Cost: v.Cost()}) {
			removed++
		}
	})
	if err == nil {
		err = s.settle(ctx)
	}
	return removed, err
}

// scan calls visit for the records that match filter, from sequence number from on and below before (0 means up to the newest one of now).
func (s *stream) scan(ctx context.Context, filter string, from, before uint64, visit func(v *log.View, tag string)) error {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if before == 0 {
		before = s.log.State().Last + 1
	}
	tags := newTags(filter)
	r := s.log.Reader(from, tags.filterFunc())
	defer r.Close()
	for n := 0; ; n++ {
		if n%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		v, err := r.Read(true)
		var damage *log.DamageError
		switch {
		case errors.As(err, &damage):
			continue
		case errors.Is(err, errEnd) || err == nil && v.Sequence() >= before:
			return nil
		case err != nil:
			return s.cause(err)
		}
		if tag, ok := tags.match(v.Tag()); ok {
			visit(&v, tag)
		}
	}
}

// refuse has the stream take no more work.
func (s *stream) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// cause returns why a call has failed with err: if the stream takes no more work, that is the reason.
func (s *stream) cause(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	return err
}

// close stores what was appended, or gives up when ctx ends, and ends all cursors.
func (s *stream) close(ctx context.Context) error {
	s.refuse(engine.ErrClosed)
	err := s.log.Close(ctx)
	return errors.Join(err, s.endCursors(engine.ErrClosed))
}

// end ends a stream that is removed at once.
func (s *stream) end() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.log.Close(ctx) // nothing of it is kept
	_ = s.endCursors(engine.ErrNoStream)
}
