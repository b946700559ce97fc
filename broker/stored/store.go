package stored

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/format"
)

// Limits bounds what a Store holds.
type Limits struct {
	Queue         int    // bytes of memory that messages of each new stream may hold while they wait to be stored
	DurableWindow int    // bytes of messages that a durable has read and that are not done
	Holder        string // name of this node in the engine's list of cursors
	Log           *slog.Logger
}

// Store is the streams of a broker. All methods may overlap.
type Store struct {
	formats *format.ByType
	tell    func(st *Stream, reason string)
	stop    <-chan struct{}

	limits     atomic.Pointer[Limits]
	table      atomic.Pointer[table]
	readers    sync.WaitGroup // waits for the goroutines that read streams, or ask the engine
	keptBytes  atomic.Int64   // of the windows of durables without members
	mismatched atomic.Uint64
}

// New returns a Store without streams. tell is called when a stream stores nothing while messages wait; it tells their publishers. The
// caller closes stop before Close.
func New(formats *format.ByType, stop <-chan struct{}, tell func(st *Stream, reason string)) *Store {
	s := &Store{formats: formats, tell: tell, stop: stop}
	s.limits.Store(&Limits{})
	s.table.Store(&table{})
	return s
}

// SetLimits changes the limits. It is called before all other methods.
func (s *Store) SetLimits(l Limits) { s.limits.Store(&l) }

// Close closes the cursors. It is called when no client has a subscription.
func (s *Store) Close() {
	for _, st := range s.table.Load().list {
		st.endKept()
	}
	s.readers.Wait()
}

// stopping reports whether stop is closed.
func (s *Store) stopping() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// Mismatched returns how often a predicate was false because a field has another kind or the payload's type is unknown.
func (s *Store) Mismatched() uint64 { return s.mismatched.Load() }

// table lists the streams. It does not change.
type table struct{ list []*Stream }

// Prepare checks the list of streams that next replaces. put puts next in place, and returns the streams that it leaves out. A stream that
// stays, by its name, gets its new configuration. Calls of Prepare and put do not overlap.
func (s *Store) Prepare(all []Config) (put func() (gone []*Stream), err error) {
	before, next := s.table.Load(), &table{}
	var update []func()
	for _, c := range all {
		if err := c.check(all); err != nil {
			return nil, err
		}
		if next.named(c.Config.Name) != nil {
			return nil, fmt.Errorf("broker: two streams are named %q", c.Config.Name)
		}
		if c.AckWait == 0 {
			c.AckWait = 30 * time.Second
		}
		st := before.named(c.Config.Name)
		if st == nil {
			st = &Stream{store: s, bound: s.limits.Load().Queue, durables: map[string]*durable{}, replays: map[*replay]struct{}{}}
			st.cfg.Store(&c)
		} else {
			if err := st.config().changeable(&c); err != nil {
				return nil, err
			}
			update = append(update, func() { st.cfg.Store(&c) })
		}
		next.list = append(next.list, st)
	}
	return func() (gone []*Stream) {
		for _, u := range update {
			u()
		}
		s.table.Store(next)
		return slices.DeleteFunc(slices.Clone(before.list), func(st *Stream) bool { return next.named(st.name()) != nil })
	}, nil
}

// named returns the stream of that name, or nil.
func (t *table) named(name string) *Stream {
	return t.find(func(c *Config) bool { return c.Config.Name == name })
}

// find returns the first stream with such a configuration, or nil.
func (t *table) find(is func(c *Config) bool) *Stream {
	for _, st := range t.list {
		if is(st.config()) {
			return st
		}
	}
	return nil
}

// Of returns the stream that stores a tag, or nil.
func (s *Store) Of(tag string) *Stream {
	return s.table.Load().find(func(c *Config) bool { return c.stores(tag) })
}

// AtLeastOnce returns the stream that stores all tags of a filter at least once. ok is false if there is none: a durable needs one.
func (s *Store) AtLeastOnce(filter string) (stream string, ok bool) {
	if st := s.table.Load().find(func(c *Config) bool { return c.AtLeastOnce && c.covers(filter) }); st != nil {
		return st.name(), true
	}
	return "", false
}

// Covering returns the stream that stores all tags of a filter, so that a subscription can read them from it.
func (s *Store) Covering(filter string) (*Stream, error) {
	t := s.table.Load()
	if st := t.find(func(c *Config) bool { return c.covers(filter) }); st != nil {
		return st, nil
	}
	if len(t.list) == 0 {
		return nil, errors.New("the node stores no stream")
	}
	each := make([]string, len(t.list))
	for i, st := range t.list {
		each[i] = fmt.Sprintf("%s (%s)", st.name(), strings.Join(st.config().Config.Tags, ", "))
	}
	return nil, fmt.Errorf("no single stream stores all tags of %q: the streams are %s", filter, strings.Join(each, ", "))
}

// Waiting says of each stream that stores nothing while messages wait why that is.
func (s *Store) Waiting() (all []string) {
	for _, st := range s.table.Load().list {
		if reason := st.reason.Load(); reason != nil {
			all = append(all, *reason)
		}
	}
	return all
}
