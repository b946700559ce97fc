package forward

import (
	"time"

	"example.com/ferry/internal/peer"
)

// confirmEvery is the longest time between two requests to the other node to confirm what was sent.
const confirmEvery = time.Second

// confirmations asks the other node to confirm what was sent, whenever a publisher or the memory needs it, until the connection ends.
func (c *conn) confirmations() {
	l := c.link
	tick := time.NewTicker(confirmEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.confirmSoon:
		case <-tick.C:
		case <-c.peer.Context().Done():
			return
		}
		l.mu.Lock()
		due := l.conn == c && (l.sent.bytes() > 0 || l.records.Len() > 0)
		l.mu.Unlock()
		if due && c.confirm(c.peer.Context()) != nil {
			return
		}
	}
}

// sentOne notes that all messages of a record are sent.
func (l *Link) sentOne(index uint64, count, bytes int) {
	l.mu.Lock()
	defer l.unlock()
	l.records.Push(sentRecord{index, count, bytes})
	l.sentIndex = index
	l.sentRecords += bytes
}

// confirmed notes that the other node has what was sent over c up to a position, and the records up to an index.
func (l *Link) confirmed(c *conn, position, index uint64) {
	l.mu.Lock()
	if l.conn != c {
		l.unlock()
		return
	}
	l.confirmedPos = max(l.confirmedPos, position)
	if position >= l.movedPos {
		index = max(index, l.movedIndex)
	}
	n := 0
	if !l.moving {
		n = l.cutSent(position)
	}
	for l.records.Len() > 0 && l.records.Front().index <= index {
		r := l.records.Pop()
		n += r.count
		l.sentRecords -= r.bytes
	}
	dropped := min(uint64(n), l.uncounted)
	l.uncounted -= dropped
	l.stats.Forwarded += uint64(n) - dropped
	l.unlock()
	l.advance(index)
	signal(l.wake)
}

// cutSent removes the messages up to a position, and returns their number. The caller holds the lock.
func (l *Link) cutSent(position uint64) (count int) {
	for l.sent.bytes() > 0 {
		first := l.sentPos - uint64(l.sent.bytes())
		if first >= position {
			break
		}
		_, frames := l.sent.front()
		frames = frames[:min(uint64(len(frames)), position-first)]
		n := peer.Count(frames)
		l.sent.cut(len(frames), n)
		count += n
	}
	return count
}

// advance removes the records up to an index from the spool.
func (l *Link) advance(index uint64) {
	if index == 0 {
		return
	}
	if err := l.spool.Advance(index); err != nil {
		l.cfg.Log.Error("forward: the spool's position was not stored", "link", l.cfg.Name, "err", err)
	}
}
