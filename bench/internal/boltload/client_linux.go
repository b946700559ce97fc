package boltload

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/loop"
)

// patience is the timeout for opening all connections, and for receiving the last responses.
const patience = 30 * time.Second

// client keeps requests in flight on all connections. One event loop runs all of its methods.
type client struct {
	spec     Spec
	loop     *loop.Loop
	conns    []*conn
	content  []byte // random bytes; each request sends a stamp and a prefix of content
	random   *rand.Rand
	start    time.Time
	opened   int  // number of open connections
	inFlight int  // number of requests without a response
	ending   bool // the client sends no more requests
	timer    *loop.Timer

	counting bool  // the measurement window is open
	proxy    []int // PIDs of the proxy, set when the window opens
	begin    usageSample
	times    []time.Duration
	report   Report
	done     chan error
}

// usageSample holds the CPU times that are read at the start and at the end of the window.
type usageSample struct {
	at    time.Time
	cpu   time.Duration
	usage harness.Usage
}

// run makes one complete measurement.
func run(s Spec) (*Report, error) {
	group, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		return nil, err
	}
	at, err := loop.ParseAddr(s.Addr)
	if err != nil {
		return nil, err
	}
	c := &client{
		spec: s, loop: group.Loops()[0], start: time.Now(), random: rand.New(rand.NewPCG(1, 2)),
		content: make([]byte, s.Most), times: make([]time.Duration, 0, 1<<20), done: make(chan error, 1),
	}
	for i := range c.content {
		c.content[i] = byte(c.random.Uint32())
	}
	if err := c.loop.Post(func() { c.dial(at) }); err != nil {
		return nil, err
	}
	if err := <-c.done; err != nil {
		return nil, fmt.Errorf("boltload: %s: %w", s.Addr, err)
	}
	c.report.summarize(c.times)
	return &c.report, nil
}

func (c *client) dial(to loop.Addr) {
	c.after(patience, func() {
		c.fail(fmt.Errorf("%d of %d connections opened within %v", c.opened, c.spec.Conns, patience))
	})
	for i := range c.spec.Conns {
		h := &conn{client: c, number: uint32(i)}
		for slot := range c.spec.InFlight {
			h.flights = append(h.flights, flight{id: uint32(slot)})
		}
		c.conns = append(c.conns, h)
		c.loop.Dial(to, patience, h)
	}
}

// after runs f on the loop once. It cancels the function of an earlier call that has not run yet.
func (c *client) after(d time.Duration, f func()) {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = c.loop.NewTimer(f)
	c.timer.Set(d)
}

// allOpen sends the first requests once all connections are open.
func (c *client) allOpen() {
	for _, h := range c.conns {
		for i := range h.flights {
			h.send(&h.flights[i])
		}
	}
	c.after(c.spec.Warm, c.beginWindow)
}

func (c *client) beginWindow() {
	for _, pid := range c.spec.Proxy {
		c.proxy = append(c.proxy, harness.Family(pid)...)
	}
	var err error
	if c.begin, err = c.now(); err != nil {
		c.fail(err)
		return
	}
	c.counting = true
	c.after(c.spec.Window, c.endWindow)
}

// endWindow closes the window. On a busy machine the timer may be early, because it counts from the start of the loop's turn, or too few
// requests were answered: then endWindow extends the window. The first responses are to requests from before the window, as many as are
// in flight.
func (c *client) endWindow() {
	window := time.Since(c.begin.at)
	if window < c.spec.Window || len(c.times) < 2*c.spec.Conns*c.spec.InFlight && window < c.spec.Window+patience {
		c.after(10*time.Millisecond, c.endWindow)
		return
	}
	end, err := c.now()
	if err != nil {
		c.fail(err)
		return
	}
	c.counting, c.ending = false, true
	c.report.Window = end.at.Sub(c.begin.at)
	c.report.CPU = end.cpu - c.begin.cpu
	own, foreign := c.begin.usage.Until(end.usage)
	c.report.Load, c.report.Foreign = own-c.report.CPU, foreign
	c.after(patience, func() { c.fail(fmt.Errorf("%d requests have no response after %v", c.inFlight, patience)) })
}

func (c *client) now() (m usageSample, err error) {
	var errs [2]error
	m.usage, errs[0] = harness.Used(append(c.proxy, c.spec.Backend...))
	m.cpu, errs[1] = pinned.CPU(c.proxy)
	m.at = time.Now()
	return m, errors.Join(errs[:]...)
}

// fail ends the measurement with err; nil means success.
func (c *client) fail(err error) {
	select {
	case c.done <- err:
	default: // an earlier reason was already reported
	}
}
