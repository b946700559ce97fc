package stored

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/broker/internal/ranks"
	"example.com/ferry/broker/stats"
	"example.com/ferry/internal/clock"
)

// Stream is a stream of a Store. All methods may overlap.
type Stream struct {
	store *Store
	cfg   atomic.Pointer[Config]
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

	mu       ranks.Mutex[ranks.Stream]
	hold     *ledger.Hold // since held has exceeded bound, until it is at most half of it; else nil
	durables map[string]*durable
	owners   owners
	replays  map[*replay]struct{}
}

func (st *Stream) config() *Config { return st.cfg.Load() }

func (st *Stream) name() string { return st.config().Config.Name }

// AtLeastOnce reports whether the messages of the stream are confirmed once they are stored.
func (st *Stream) AtLeastOnce() bool { return st.config().AtLeastOnce }

// Retire ends the subscriptions to a stream that is no longer configured.
func (st *Stream) Retire() {
	st.mu.Lock()
	st.gone.Store(true)
	var subs []*Sub
	for r := range st.replays {
		subs = append(subs, r.sub)
	}
	for _, d := range st.durables {
		d.mu.Lock()
		for _, m := range d.members {
			subs = append(subs, m.sub)
		}
		d.mu.Unlock()
	}
	st.mu.Unlock()
	for _, sub := range subs {
		sub.revoke(streamGone(st))
	}
	st.endKept()
}

// slowStore is how long the engine may store nothing, while messages wait, before the Store asks it why and tells the publishers.
const slowStore = 3 * time.Second

// Check looks for streams whose messages wait, at most every slowStore for each.
func (s *Store) Check(now time.Time) {
	for _, st := range s.table.Load().list {
		if st.pending.Load() > 0 && clock.At(now)-st.progress.Load() > int64(slowStore) && st.asking.CompareAndSwap(false, true) {
			s.readers.Go(func() {
				st.explain()
				select {
				case <-time.After(slowStore):
				case <-s.stop:
				}
				st.asking.Store(false)
			})
		}
	}
}

// explain asks the engine why it stores nothing, and tells the publishers whose messages wait.
func (st *Stream) explain() {
	ctx, cancel := context.WithTimeout(context.Background(), slowStore)
	defer cancel()
	go func() {
		select {
		case <-st.store.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	info, err := st.config().Stream.Info(ctx)
	if err == nil {
		err = info.Err
	}
	if st.pending.Load() == 0 {
		return
	}
	reason := fmt.Sprintf("stream %q has stored nothing for %v", st.name(), slowStore)
	if err != nil {
		reason = fmt.Sprintf("stream %q waits for its storage: %v", st.name(), err)
	}
	st.reason.Store(&reason)
	st.store.limits.Load().Log.Warn("messages wait to be stored", "stream", st.name(), "bytes", st.pending.Load(), "err", err)
	st.store.tell(st, reason)
}
