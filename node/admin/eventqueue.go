package admin

import "sync"

// eventQueue holds the events that wait for one reader of /api/stream. It drops the oldest ones beyond maxWaiting events or
// maxWaitingBytes bytes. Its methods may be called by any goroutine.
type eventQueue struct {
	mu      sync.Mutex
	events  [][]byte
	bytes   int // sum of the events' capacities
	dropped uint64
	ready   chan struct{} // of capacity 1: receives when an event was pushed
}

// push appends an event and never blocks.
func (q *eventQueue) push(event []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events = append(q.events, event)
	q.bytes += cap(event)
	for len(q.events) > maxWaiting || q.bytes > maxWaitingBytes {
		q.shift()
		q.dropped++
	}
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// pop removes and returns the oldest event; nil if the queue is empty.
func (q *eventQueue) pop() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) == 0 {
		return nil
	}
	return q.shift()
}

// shift removes the oldest event; mu is held.
func (q *eventQueue) shift() []byte {
	event := q.events[0]
	q.events[0] = nil
	q.events = q.events[1:]
	q.bytes -= cap(event)
	return event
}

// takeDropped returns how many events were dropped since the last call.
func (q *eventQueue) takeDropped() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.dropped
	q.dropped = 0
	return n
}
