package broker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/broker/stats"
	"example.com/ferry/engine"
	"example.com/ferry/field"
	"example.com/ferry/internal/topic"
)

// Stored is a stream whose tags the Broker stores.
type Stored struct {
	Stream engine.Stream
	Config engine.Config // with which Stream was opened

	// AtLeastOnce makes CREDIT and the response to PING wait until a message is stored, and allows durables. Otherwise the stream
	// keeps messages for replay: those that exceed Config.StoreQueue are dropped.
	AtLeastOnce bool

	// Key is the field of the payload whose messages keep their order, for messages that their publisher gave no key. A zero Path
	// means the tag.
	Key field.Path

	// ID is the field of the payload that is the idempotency key, for messages that their publisher gave none. A zero Path means
	// no such field.
	ID field.Path

	MaxDeliveries int             // a message that failed so often is a dead letter; 0 means no bound
	Backoff       []time.Duration // wait before the second, third... delivery; the last one holds for all further. Empty means no wait
	AckWait       time.Duration   // a message that a member neither acks nor has in progress for this long has failed; 0 means 30 s
	KeepWindow    time.Duration   // how long a durable without members keeps what it has read, for its next member; 0 means not at all
	DeadLetter    string          // tag of the dead letters, in another stream; "" means that they are dropped
}

// check returns an error if s is not usable together with the other streams.
func (s *Stored) check(all []Stored) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("broker: stream %q: "+format, append([]any{s.Config.Name}, args...)...)
	}
	switch {
	case s.Stream == nil:
		return fail("Stored.Stream is missing")
	case len(s.Config.Tags) == 0:
		return fail("it has no tags")
	case s.MaxDeliveries < 0 || s.AckWait < 0:
		return fail("MaxDeliveries is %d and AckWait %v: both must not be negative", s.MaxDeliveries, s.AckWait)
	case s.DeadLetter == "":
		return nil
	}
	to := (&streamTable{list: storedStreams(all)}).of(s.DeadLetter)
	switch {
	case to == nil:
		return fail("no stream stores the tag %q of its dead letters", s.DeadLetter)
	case to.config().Config.Name == s.Config.Name:
		return fail("the tag %q of its dead letters is its own", s.DeadLetter)
	case !to.config().AtLeastOnce:
		return fail("stream %q, which stores the tag %q of its dead letters, is not at-least-once", to.config().Config.Name, s.DeadLetter)
	}
	return nil
}

// fill returns s with its defaults.
func (s Stored) fill() Stored {
	if s.AckWait == 0 {
		s.AckWait = 30 * time.Second
	}
	return s
}

// storedStream is a stream of the Broker.
type storedStream struct {
	cfg   atomic.Pointer[Stored]
	bound int // bytes of memory that may wait to be stored

	stored   stats.Counter
	pending  atomic.Int64 // bytes of frames that wait to be stored
	held     atomic.Int64 // bytes of memory of these, which the bound is for
	waiting  atomic.Int64 // messages that wait to be stored
	refused  atomic.Uint64
	dropped  atomic.Uint64
	progress atomic.Int64 // when the engine last stored something, or had nothing to store, as clock.Now
	asking   atomic.Bool  // the engine is being asked why it waits
	reason   atomic.Pointer[string]
	gone     atomic.Bool // the stream is no longer configured; changed with mu held

	mu       sync.Mutex
	hold     *ledger.Hold // since held has exceeded bound, until it is at most half of it; else nil
	durables map[string]*durable
	owners   owners
	replays  map[*replay]struct{}
}

func newStoredStream(s Stored, bound int) *storedStream {
	st := &storedStream{bound: bound, durables: map[string]*durable{}, replays: map[*replay]struct{}{}}
	s = s.fill()
	st.cfg.Store(&s)
	return st
}

func (st *storedStream) config() *Stored { return st.cfg.Load() }

func (st *storedStream) name() string { return st.config().Config.Name }

// covers reports whether all tags that filter matches are the stream's.
func (st *storedStream) covers(filter string) bool { return covers(st.config().Config.Tags, filter) }

func storedStreams(all []Stored) []*storedStream {
	list := make([]*storedStream, len(all))
	for i := range all {
		list[i] = newStoredStream(all[i], 0)
	}
	return list
}

// streamTable lists the streams. It does not change; Broker.PrepareStreams replaces it.
type streamTable struct{ list []*storedStream }

// newStreamTable checks the streams and returns their table. A stream that
// old has by the same name stays, and set changes its configuration.
func newStreamTable(all []Stored, bound int, old *streamTable) (t *streamTable, set func(), err error) {
	t = &streamTable{}
	var update []func()
	for i := range all {
		s := all[i]
		if err := s.check(all); err != nil {
			return nil, nil, err
		}
		name := s.Config.Name
		if t.named(name) != nil {
			return nil, nil, fmt.Errorf("broker: two streams are named %q", name)
		}
		st := old.named(name)
		if st == nil {
			st = newStoredStream(s, bound)
		} else {
			if err := st.changeable(&s); err != nil {
				return nil, nil, err
			}
			s = s.fill()
			update = append(update, func() { st.cfg.Store(&s) })
		}
		t.list = append(t.list, st)
	}
	return t, func() {
		for _, u := range update {
			u()
		}
	}, nil
}

// changeable returns an error if the stream cannot change to next while the Broker runs.
func (st *storedStream) changeable(next *Stored) error {
	now := st.config()
	switch {
	case now.AtLeastOnce != next.AtLeastOnce:
		return fmt.Errorf("broker: stream %q: its delivery cannot change while the broker runs: clients were told which one it is", st.name())
	case now.Key.String() != next.Key.String():
		return fmt.Errorf("broker: stream %q: its key cannot change from %q to %q while the broker runs: messages in flight are ordered by it", st.name(), now.Key, next.Key)
	}
	return nil
}

// named returns the stream of that name, or nil. t may be nil.
func (t *streamTable) named(name string) *storedStream {
	if t == nil {
		return nil
	}
	i := slices.IndexFunc(t.list, func(st *storedStream) bool { return st.name() == name })
	if i < 0 {
		return nil
	}
	return t.list[i]
}

// of returns the stream that stores a tag, or nil.
func (t *streamTable) of(tag string) *storedStream {
	for _, st := range t.list {
		for _, filter := range st.config().Config.Tags {
			if topic.Match(filter, tag) {
				return st
			}
		}
	}
	return nil
}

// covering returns the stream that stores all tags of a filter.
func (t *streamTable) covering(filter string) (*storedStream, error) {
	for _, st := range t.list {
		if st.covers(filter) {
			return st, nil
		}
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
