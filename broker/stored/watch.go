package stored

import (
	"context"
	"fmt"
	"time"

	"example.com/ferry/internal/clock"
)

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
