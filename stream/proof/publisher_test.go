//go:build linux

package proof

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/internal/history"
	"example.com/ferry/stream"
)

// publications gets what a load does. It is a History, or several.
type publications interface {
	Sent(key string, n uint64)
	Stored(key string, n uint64)
}

type histories []*history.History

func (hs histories) Sent(key string, n uint64) {
	for _, h := range hs {
		h.Sent(key, n)
	}
}

func (hs histories) Stored(key string, n uint64) {
	for _, h := range hs {
		h.Stored(key, n)
	}
}

// load publishes messages of several keys and records when they are stored.
type load struct {
	t       *testing.T
	history publications
	size    int // of a payload
	stored  atomic.Int64

	stop  context.CancelFunc // sends no further message
	abort context.CancelFunc // and gives up those that are on their way
	ends  sync.WaitGroup
}

// startLoad publishes until stop or the end of the test. Each key has one message on its way at a time. prefix distinguishes the
// keys of several loads.
func startLoad(t *testing.T, h publications, client *stream.Client, prefix string, keys, size int) *load {
	t.Helper()
	sending, abort := context.WithCancel(context.Background())
	ctx, stop := context.WithCancel(sending)
	l := &load{t: t, history: h, size: size, stop: stop, abort: abort}
	for k := range keys {
		l.ends.Go(func() { l.publish(ctx, sending, client, fmt.Sprintf("%s%d", prefix, k)) })
	}
	t.Cleanup(l.wait)
	return l
}

// publish publishes the messages of one key until ctx ends.
func (l *load) publish(ctx, sending context.Context, client *stream.Client, key string) {
	for n := uint64(1); ctx.Err() == nil; n++ {
		l.history.Sent(key, n)
		err := client.SendStored(sending, newMessage(key, n, l.size))
		if err != nil {
			l.t.Errorf("message %d of key %s: %v", n, key, err)
			return
		}
		l.history.Stored(key, n)
		l.stored.Add(1)
	}
}

// wait ends the load. The messages that are on their way are stored first, within the timeout.
func (l *load) wait() {
	l.stop()
	giveUp := time.AfterFunc(timeout, l.abort)
	defer giveUp.Stop()
	if l.t.Failed() {
		l.abort()
	}
	l.ends.Wait()
}

// awaitStored waits until n more messages are stored.
func (l *load) awaitStored(n int64) {
	l.t.Helper()
	target := l.stored.Load() + n
	await(l.t, fmt.Sprintf("%d more messages are stored", n), func() bool { return l.stored.Load() >= target })
}
