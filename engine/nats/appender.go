package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry/engine"
)

const (
	maxBatch      = 1000                   // records of a batch; the server's default limit
	maxBatchBytes = 4 << 20                // a larger record is stored alone
	maxHeaders    = 60 << 10               // of a message; the server's limit is 64 KiB
	ackTimeout    = 5 * time.Second        // the longest
	ackSoon       = 400 * time.Millisecond // the first: the message can be lost with the server that has it
	mostConflicts = 10
	minBackoff    = 10 * time.Millisecond
	maxBackoff    = time.Second
)

// appender stores the records of one stream in order. One goroutine sends a batch and waits for its acknowledgement. Meanwhile the
// next batch gathers. So the number of syncs does not grow with the number of publishers.
type appender struct {
	s     *stream
	sub   *natsgo.Subscription
	acks  chan *natsgo.Msg
	inbox string
	wake  chan struct{} // something was appended, or the stream has ended
	ended chan struct{} // the goroutine has ended

	// The fields of the goroutine.
	headers *headers
	serial  uint64 // of attempts
	batches string // prefix of the ids of batches
	limit   int    // records of the next batch: less than maxBatch after a batch was refused because of one record
	last    uint64 // sequence number of the last record that was acknowledged, or that the stream had before
	found   int    // records of the batch that its last attempt has not stored because of their IDs
	slow    int    // attempts in a row that were not acknowledged in time

	doubtful  int  // so many of the first records may be stored
	expecting bool // the next attempt is refused unless the stream ends with expected
	expected  uint64
	conflicts int // attempts in a row that were refused for that

	repeated atomic.Uint64 // records that were not stored because of their IDs

	mu      sync.Mutex
	queue   []entry // queue[head:] is not stored yet
	head    int
	pending int // bytes of the payloads in calls that are not done
	failure error
	end     error         // set once: no more appends, and why
	late    []func(error) // done of the calls that came after end
	idle    broadcast     // the queue is empty
}

// entry is one record that waits to be stored.
type entry struct {
	record  engine.Record // Payload and Extension are the appender's copies
	subject string
	id      string // messageID of the record
	skip    bool   // nothing to store: a record with its ID is stored, or its call has no records
	index   int    // of the record in its call
	call    *call
	last    bool // of its call
}

// call is one call of Append.
type call struct {
	bytes   int
	refused []int  // records that can never be stored
	why     string // of the first one
	done    func(error)
}

func newAppender(s *stream, last uint64) (*appender, error) {
	a := &appender{
		s: s, acks: make(chan *natsgo.Msg, 2*maxBatch), inbox: s.e.write.NewInbox() + ".", wake: make(chan struct{}, 1), ended: make(chan struct{}),
		headers: newHeaders(), batches: s.e.session + "-", limit: maxBatch, last: last,
	}
	var err error
	if a.sub, err = s.e.write.ChanSubscribe(a.inbox+">", a.acks); err != nil {
		return nil, err
	}
	go a.run()
	return a, nil
}

// append queues the records that can be stored.
func (a *appender) append(records []engine.Record, done func(error)) {
	config := a.s.config.Load()
	c := &call{done: done}
	entries := make([]entry, 0, max(len(records), 1))
	size := 0
	for i := range records {
		c.bytes += len(records[i].Payload)
		size += len(records[i].Payload) + len(records[i].Extension)
	}
	memory := make([]byte, 0, size)
	var tag, subject string
	for i := range records {
		r := records[i]
		if i == 0 || r.Tag != tag {
			tag, subject = r.Tag, subjectOf(r.Tag)
		}
		if why := a.refusal(&r, subject, config); why != "" {
			c.refuse(i, why)
			continue
		}
		memory, r.Payload = appendCopy(memory, r.Payload)
		memory, r.Extension = appendCopy(memory, r.Extension)
		entries = append(entries, entry{record: r, subject: subject, id: messageID(&r, config.SharedIDs), index: i, call: c})
	}
	if len(entries) == 0 {
		entries = append(entries, entry{skip: true, call: c})
	}
	entries[len(entries)-1].last = true

	a.mu.Lock()
	if a.end != nil {
		a.late = append(a.late, done)
		if len(a.late) == 1 {
			go a.refuseLate(a.end)
		}
		a.mu.Unlock()
		return
	}
	a.queue = append(a.queue, entries...)
	a.pending += c.bytes
	a.mu.Unlock()
	a.kick()
}

// refuseLate ends the calls that came after the end, in order and behind those that abandon ends.
func (a *appender) refuseLate(err error) {
	<-a.ended
	for n := 0; ; n++ {
		a.mu.Lock()
		if n == len(a.late) {
			a.late = nil
			a.mu.Unlock()
			return
		}
		done := a.late[n]
		a.mu.Unlock()
		done(err)
	}
}

func appendCopy(memory, b []byte) (grown, copied []byte) {
	n := len(memory)
	memory = append(memory, b...)
	return memory, memory[n:len(memory):len(memory)]
}

func (a *appender) kick() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run stores what is queued until the stream ends.
func (a *appender) run() {
	defer close(a.ended)
	backoff := minBackoff
	for {
		batch, end := a.next()
		if end != nil {
			a.abandon(end)
			return
		}
		if len(batch) == 0 {
			<-a.wake
			continue
		}
		var err error
		if a.doubtful > 0 {
			var stored int
			if stored, err = a.settle(batch); stored > 0 {
				a.finish(stored, "")
				continue
			}
		}
		if err == nil {
			err = a.store(batch)
		}
		var refused refusal
		switch {
		case err == nil:
			a.finish(len(batch), "")
			a.repeated.Add(uint64(a.found))
			a.limit = min(2*a.limit, maxBatch)
			a.settled()
			a.slow = 0
			backoff = minBackoff
		case errors.Is(err, errMarked):
			// The next attempt is for the others.
		case errors.As(err, &refused) && len(batch) == 1:
			a.finish(1, string(refused))
			a.settled()
		case errors.As(err, &refused):
			a.limit = len(batch) / 2 // find the record
		case a.expecting && isConflict(err) && a.conflicts < mostConflicts:
			a.conflicts++ // settle again
		default:
			if isConflict(err) {
				a.settled() // others append all the time: the records may be stored twice
			}
			a.fail(err)
			a.pause(backoff)
			backoff = min(2*backoff, maxBackoff)
		}
	}
}

// next returns the records of the next batch, and why the appender must stop.
func (a *appender) next() ([]entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end != nil {
		return nil, a.end
	}
	size := 0
	for i := a.head; i < len(a.queue); i++ {
		size += len(a.queue[i].record.Payload)
		if n := i - a.head; n == a.limit || n > 0 && size > maxBatchBytes {
			return a.queue[a.head:i], nil
		}
	}
	return a.queue[a.head:], nil
}

// finish removes the first n entries and ends the calls whose last records they are. why is not empty if they are refused.
func (a *appender) finish(n int, why string) {
	a.mu.Lock()
	var done []*call
	for i := a.head; i < a.head+n; i++ {
		e := &a.queue[i]
		if why != "" {
			e.call.refuse(e.index, why)
		}
		if e.last {
			done = append(done, e.call)
			a.pending -= e.call.bytes
		}
		*e = entry{}
	}
	a.head += n
	if a.head == len(a.queue) {
		a.queue, a.head = a.queue[:0], 0
		if cap(a.queue) > 4*maxBatch {
			a.queue = nil
		}
		a.idle.send()
	} else if a.head > maxBatch && a.head > len(a.queue)/2 {
		kept := copy(a.queue, a.queue[a.head:])
		clear(a.queue[kept:])
		a.queue, a.head = a.queue[:kept], 0
	}
	a.failure = nil
	a.mu.Unlock()
	for _, c := range done {
		c.done(c.err(a.s.name))
	}
}

func (c *call) refuse(index int, why string) {
	if c.refused = append(c.refused, index); len(c.refused) == 1 {
		c.why = why
	}
}

func (c *call) err(stream string) error {
	if len(c.refused) == 0 {
		return nil
	}
	slices.Sort(c.refused)
	return &engine.AppendError{Stream: stream, Refused: c.refused, Why: c.why}
}

// fail notes why the records wait.
func (a *appender) fail(err error) {
	a.mu.Lock()
	first := a.failure == nil
	a.failure = err
	a.mu.Unlock()
	if first {
		a.s.e.log.Warn("engine: records wait to be stored", "stream", a.s.name, "err", err)
	}
}

// pause waits before the next attempt.
func (a *appender) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-a.wake:
			a.mu.Lock()
			end := a.end
			a.mu.Unlock()
			if end != nil {
				return
			}
		}
	}
}

// abandon ends the calls that wait.
func (a *appender) abandon(err error) {
	a.mu.Lock()
	left := a.queue[a.head:]
	a.queue, a.head, a.pending = nil, 0, 0
	a.idle.send()
	a.mu.Unlock()
	for i := range left {
		if left[i].last {
			left[i].call.done(err)
		}
	}
	a.sub.Unsubscribe() //nolint:errcheck // the connection may be closed
}

// close refuses further appends with err and ends those that wait. It waits for the goroutine.
func (a *appender) close(err error) {
	a.mu.Lock()
	if a.end == nil {
		a.end = err
	}
	a.mu.Unlock()
	a.kick()
	<-a.ended
}

// drain waits until the queue is empty.
func (a *appender) drain(ctx context.Context) error {
	for {
		idle := a.idle.wait()
		a.mu.Lock()
		left, failure := len(a.queue)-a.head, a.failure
		a.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("stream %q: %d records are not stored", a.s.name, left), ctx.Err(), failure)
		}
	}
}

// state returns what Pending and Info report.
func (a *appender) state() (pending int, failure error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pending, a.failure
}
