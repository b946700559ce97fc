package mqttbridge

import (
	"errors"
	"fmt"
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
	for _, q := range [...]*queue{&b.sent, &b.waiting} {
		for q.Len() > 0 {
			m := q.pop()
			b.refuse(&m, b.spoolErr)
		}
	}
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
	case b.sent.Len()+b.waiting.Len() == 0, !b.closed && b.mayWait() && time.Now().Before(b.storeAt):
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
	var err error
	for i := range onTheirWay {
		var index uint64
		if index, err = b.write(&onTheirWay[i]); err != nil {
			break
		}
		indexes = append(indexes, index)
	}
	b.moved(indexes)
	for err == nil && b.storeOne() {
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
			b.skip = max(b.skip, f.index)
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

// storeOne writes the first waiting message to the spool. If the spool does not take it, it waits while the bridge is connected, or with
// Config.BlockWhenFull; otherwise it is refused. storeOne returns false if there is no message, or if it waits.
func (b *Bridge) storeOne() bool {
	b.mu.Lock()
	if b.waiting.Len() == 0 {
		b.mu.Unlock()
		return false
	}
	m := *b.waiting.Front()
	b.mu.Unlock()
	_, err := b.write(&m)
	b.mu.Lock()
	defer b.unlock()
	if err != nil {
		if !b.closed && b.mayWait() {
			return false
		}
		b.refuse(&m, err)
	}
	b.waiting.pop()
	return true
}

// mayWait reports whether messages wait that the spool does not take. The caller holds the lock.
func (b *Bridge) mayWait() bool { return b.cfg.BlockWhenFull || b.conn != nil }

// refuse drops a message that is not safe. The caller holds the lock.
func (b *Bridge) refuse(m *item, why error) {
	reason := dropDisk
	if errors.Is(why, spool.ErrFull) {
		reason = dropFull
	}
	b.drop(reason, 1)
	if m.from != nil {
		b.refused = append(b.refused, refusal{m.from, fmt.Errorf("the other broker is not connected, and the message cannot be stored: %w", why)})
	}
}

// write appends a message to the spool and returns its index.
func (b *Bridge) write(m *item) (index uint64, err error) {
	record := recordOf(m)
	if index, err = b.spool.TryAppend(&record); err != nil {
		b.failed("bridge: the spool does not take messages", err)
		b.mu.Lock()
		b.storePause = longer(b.storePause)
		b.storeAt = time.Now().Add(b.storePause)
		b.mu.Unlock()
		return 0, err
	}
	b.mu.Lock()
	b.spoolErr, b.storePause, b.storeAt = nil, 0, time.Time{}
	b.stats.Spooled++
	b.mu.Unlock()
	return index, nil
}

// failed stores an error of the spool. It logs the first one.
func (b *Bridge) failed(what string, err error) {
	b.mu.Lock()
	news := b.spoolErr == nil
	b.spoolErr = err
	b.mu.Unlock()
	if news {
		b.cfg.Log.Error(what, "bridge", b.cfg.Name, "err", err)
	}
}

// longer returns the pause behind one that has not sufficed.
func longer(pause time.Duration) time.Duration {
	return min(max(2*pause, time.Second), 30*time.Second)
}
