package mqttbridge

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/ferry/link/spool"
)

// lookAgain is the longest time without a look at what is due.
const lookAgain = time.Second

// store writes messages to the spool that cannot be sent soon, until Close is called.
func (b *Bridge) store() {
	timer := time.NewTimer(lookAgain)
	defer timer.Stop()
	for b.ctx.Err() == nil {
		b.storeDue()
		timer.Reset(b.nextLook())
		select {
		case <-b.storeSoon:
		case <-timer.C:
		case <-b.ctx.Done():
		}
	}
	b.storeDue()
	b.mu.Lock()
	b.drop(dropFull, b.sent.Len()+b.waiting.Len()) // the spool did not take them
	b.sent, b.waiting = queue{}, queue{}
	b.unlock()
}

// nextLook returns the time after which something may be due though nothing has woken store.
func (b *Bridge) nextLook() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest, waits := b.waiters.Oldest()
	if !waits {
		return lookAgain
	}
	return min(max(time.Until(oldest.Add(b.cfg.SafeWithin)), time.Millisecond), lookAgain)
}

// mustStore reports whether messages go from memory to the spool. The caller holds the lock.
func (b *Bridge) mustStore() bool {
	switch {
	case b.sent.Len()+b.waiting.Len() == 0:
		return false
	case b.closed, b.conn == nil, b.spooling, b.waiting.bytes > b.cfg.Memory/2:
		return true
	}
	oldest, waits := b.waiters.Oldest()
	return waits && time.Since(oldest) >= b.cfg.SafeWithin
}

// storeDue writes what is in memory to the spool, if that is due.
func (b *Bridge) storeDue() {
	b.mu.Lock()
	if !b.mustStore() || b.closed && b.conn != nil {
		b.mu.Unlock()
		return
	}
	b.spooling, b.storing, b.moving = true, true, true
	onTheirWay := slices.Clone(b.sent.All())
	b.mu.Unlock()

	var indexes []uint64
	full := false
	for i := range onTheirWay {
		index, err := b.write(&onTheirWay[i])
		if full = errors.Is(err, spool.ErrFull); full {
			break
		}
		if err != nil {
			index = lost // it is counted as dropped, though it may arrive
		}
		indexes = append(indexes, index)
	}
	b.moved(indexes)
	for !full && b.storeOne() {
	}
	b.mu.Lock()
	b.storing = false
	b.unlock()
	signal(b.sendSoon)
}

// moved notes that the first messages of sent are in the spool, under the indexes.
func (b *Bridge) moved(indexes []uint64) {
	b.mu.Lock()
	i := 0
	for k := range b.flights.All() {
		f := &b.flights.All()[k]
		if i == len(indexes) {
			break
		}
		if f.index == 0 {
			f.index = indexes[i]
			if f.index != lost {
				b.skip = max(b.skip, f.index)
			}
			i++
		}
	}
	for range indexes {
		b.sent.pop()
	}
	b.moving = false
	b.land()
	b.unlock()
	signal(b.sendSoon)
}

// storeOne writes the first waiting message to the spool. It returns false if there is none, or if it waits for room.
func (b *Bridge) storeOne() bool {
	b.mu.Lock()
	if b.waiting.Len() == 0 {
		b.mu.Unlock()
		return false
	}
	m := *b.waiting.Front()
	b.mu.Unlock()
	_, err := b.write(&m)
	full := errors.Is(err, spool.ErrFull)
	if full && b.cfg.BlockWhenFull {
		return false
	}
	b.mu.Lock()
	if full {
		b.drop(dropFull, 1)
	}
	b.waiting.pop()
	b.unlock()
	return true
}

// write appends a message to the spool and returns its index. Errors other than a full spool are counted as drops.
func (b *Bridge) write(m *item) (index uint64, err error) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	record := recordOf(m)
	index, err = b.spool.Append(ended, &record)
	b.mu.Lock()
	news := err != nil && b.spoolErr == nil
	b.spoolErr = err
	switch {
	case err == nil:
		b.stats.Spooled++
	case !errors.Is(err, spool.ErrFull):
		b.drop(dropDisk, 1)
	}
	b.mu.Unlock()
	if news {
		b.cfg.Log.Error("bridge: the spool does not take messages", "bridge", b.cfg.Name, "err", err)
	}
	return index, err
}
