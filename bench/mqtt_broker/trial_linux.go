package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/keepalive"
)

// epoch is what the times in messages count from.
var epoch = time.Now()

// inFlight is how many messages of all publishers together may be on their way to the slowest subscriber.
const inFlight = 2 * many

// trial is the clients of one case.
type trial struct {
	publishers  []*publisher
	subscribers []*client
	closing     atomic.Bool
	once        sync.Once
	err         error // valid after failed is closed
	failed      chan struct{}
	all         sync.WaitGroup
}

// connect connects and subscribes the clients of a case. The caller ends the trial, also after an error.
func connect(addr string, l load) (*trial, error) {
	t := &trial{failed: make(chan struct{})}
	for i := range l.subscribers {
		c, err := dial(addr, fmt.Sprintf("subscriber-%d", i))
		if err != nil {
			return t, err
		}
		c.t, c.expected = t, make([]int, l.publishers)
		t.subscribers = append(t.subscribers, c)
		if err := c.subscribe("bench/+", l.qos); err != nil {
			return t, err
		}
	}
	for i := range l.publishers {
		c, err := dial(addr, fmt.Sprintf("publisher-%d", i))
		if err != nil {
			return t, err
		}
		c.t, c.qos = t, l.qos
		p := &publisher{client: c, number: i, topic: []byte(topicOf(i)), payload: append([]byte(nil), template...)}
		c.sender = p
		t.publishers = append(t.publishers, p)
	}
	for _, c := range t.clients() {
		t.all.Go(func() {
			if err := c.receive(); !t.closing.Load() {
				t.fail(err)
			}
		})
	}
	return t, nil
}

func (t *trial) clients() []*client {
	all := append([]*client(nil), t.subscribers...)
	for _, p := range t.publishers {
		all = append(all, p.client)
	}
	return all
}

func (t *trial) fail(err error) {
	t.once.Do(func() {
		t.err = err
		close(t.failed)
	})
}

// end disconnects the clients.
func (t *trial) end() {
	t.closing.Store(true)
	for _, c := range t.clients() {
		_ = c.conn.Close()
	}
	t.all.Wait()
}

// sent returns how many messages the subscribers have to get.
func (t *trial) sent() (n int) {
	for _, p := range t.publishers {
		n += p.sent * len(t.subscribers)
	}
	return n
}

// flood has all publishers send at full speed. It returns how many messages were delivered.
func (t *trial) flood(window time.Duration) (int, error) {
	before := t.sent()
	end := time.Now().Add(window)
	errs := make([]error, len(t.publishers))
	var all sync.WaitGroup
	for i, p := range t.publishers {
		all.Go(func() { errs[i] = p.flood(inFlight/ahead/len(t.publishers), end) })
	}
	all.Wait()
	return t.sent() - before, errors.Join(errs...)
}

// pace sends messages at times that do not depend on the broker, so that rate messages a second are delivered. It returns how many were, and
// the time from when each was due.
func (t *trial) pace(rate int, window time.Duration) (int, keepalive.Histogram, error) {
	before := t.sent()
	each := max(1, int(window.Seconds()*float64(rate))/len(t.subscribers)/len(t.publishers)) // messages of a publisher
	interval := time.Second * time.Duration(len(t.subscribers)) / time.Duration(rate)
	phases := make([]*phase, len(t.publishers))
	for i, p := range t.publishers {
		phases[i] = p.begin(each, true)
	}
	var times keepalive.Histogram
	due := time.Since(epoch)
	for range each {
		for _, p := range t.publishers {
			due += interval
			if err := sleepUntil(due); err != nil {
				return 0, times, err
			}
			if err := errors.Join(p.add(due), p.write()); err != nil {
				return 0, times, err
			}
		}
	}
	for _, ph := range phases {
		if err := t.wait(ph); err != nil {
			return 0, times, err
		}
	}
	for _, c := range t.subscribers {
		times.Merge(c.times)
		c.times = keepalive.Histogram{}
	}
	return t.sent() - before, times, nil
}

// failure returns the error that has ended the trial, or nil.
func (t *trial) failure() error {
	select {
	case <-t.failed:
		return t.err
	default:
		return nil
	}
}

// sleepUntil sleeps in the kernel: the runtime's timers fire up to a millisecond late in an idle process.
func sleepUntil(due time.Duration) error {
	d := due - time.Since(epoch)
	if d <= 0 {
		return nil
	}
	ts := unix.NsecToTimespec(d.Nanoseconds())
	if err := unix.Nanosleep(&ts, nil); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	return nil
}
