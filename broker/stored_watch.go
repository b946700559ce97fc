package broker

import (
	"context"
	"fmt"
	"time"

	"example.com/ferry/internal/clock"
	"example.com/ferry/protocol/native"
)

// slowStore is how long the engine may store nothing, while messages wait, before the broker asks it why and tells the publishers.
const slowStore = 3 * time.Second

// checkStreams looks for streams whose messages wait, at most every slowStore for each.
func (b *Broker) checkStreams(now time.Time) {
	for _, st := range b.streams.Load().list {
		if st.pending.Load() > 0 && clock.At(now)-st.progress.Load() > int64(slowStore) && st.asking.CompareAndSwap(false, true) {
			b.readers.Add(1)
			go func() {
				defer b.readers.Done()
				st.explain(b)
				select {
				case <-time.After(slowStore):
				case <-b.stop:
				}
				st.asking.Store(false)
			}()
		}
	}
}

// explain asks the engine why it stores nothing, and tells the publishers whose messages wait.
func (st *storedStream) explain(b *Broker) {
	ctx, cancel := context.WithTimeout(context.Background(), slowStore)
	defer cancel()
	go func() {
		select {
		case <-b.stop:
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
	b.cfg.Load().Log.Warn("messages wait to be stored", "stream", st.name(), "bytes", st.pending.Load(), "err", err)
	for _, s := range b.allSessions() {
		for _, p := range s.publishersOf(st) {
			if s.noticeWait(clock.Now()) > 0 {
				break // it is told of many tags: the others wait for the same reason
			}
			s.notice(native.NoticeFrame{Tag: p.tag.ID, Code: native.CodeLimit, Reason: reason})
		}
	}
}

// publishersOf returns the publishers of the session whose messages wait to be stored in a stream.
func (s *session) publishersOf(st *storedStream) (waiting []*publisher) {
	for _, p := range s.publishers() {
		if p.tag.stored.Load() == st && p.account.Waiting() {
			waiting = append(waiting, p)
		}
	}
	return waiting
}
