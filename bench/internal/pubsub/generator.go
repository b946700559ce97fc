package pubsub

import (
	"time"

	"example.com/ferry/bench/internal/numbered"
)

// generator publishes numbered messages, the tags in turn.
type generator struct {
	to    publisher
	tags  []*numbered.Message
	seq   uint64 // number of the next message of each tag
	timer *sleepTimer
}

func newGenerator(to publisher, tags, size int) (*generator, error) {
	timer, err := newSleepTimer()
	if err != nil {
		return nil, err
	}
	g := &generator{to: to, timer: timer}
	for range tags {
		m, err := numbered.New(size, 0)
		if err != nil {
			return nil, err
		}
		g.tags = append(g.tags, m)
	}
	return g, nil
}

// closed publishes n messages of each tag as fast as the system accepts them.
func (g *generator) closed(n int) error {
	for range n {
		for tag, m := range g.tags {
			m.Set(g.seq, 0)
			if err := g.to.send(tag, m.Bytes); err != nil {
				return err
			}
		}
		g.seq++
	}
	return g.to.flush()
}

// shortestSleep is the minimum time that a source sleeps. A source sends messages that are due within this time together,
// because waking up for each message costs more than sending it.
const shortestSleep = 100 * time.Microsecond

// open publishes n messages of each tag, at rate messages a second for all tags together, however slow the system is. The
// latency of a message begins when the message was due, so it includes the wait for earlier messages. It does not include the
// delay of a timer of this process that fires late.
func (g *generator) open(n int, rate float64) error {
	interval := time.Duration(float64(time.Second) / rate)
	woken := time.Now()
	due := woken
	for range n {
		for tag, m := range g.tags {
			if wait := time.Until(due); wait > 0 {
				if err := g.to.flush(); err != nil {
					return err
				}
				if err := g.timer.sleep(max(wait, shortestSleep)); err != nil {
					return err
				}
				woken = time.Now()
			}
			m.Set(g.seq, max(due.UnixNano(), woken.UnixNano()))
			if err := g.to.send(tag, m.Bytes); err != nil {
				return err
			}
			due = due.Add(interval)
		}
		g.seq++
	}
	return g.to.flush()
}
