package openloop

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/harness"
)

// patience is the timeout for reading the counter.
const patience = 30 * time.Second

// stream is the state of one stream of Spec, or of the counter.
type stream struct {
	path  string
	open  bool
	rate  float64
	next  time.Duration // when the next request of an open stream is due
	free  []*conn       // idle connections
	all   []*conn
	times []time.Duration
	done  int // responses in the window
}

// generator is the state of one run. Times count from its start.
type generator struct {
	Spec
	poll    int
	start   time.Time
	target  unix.SockaddrInet4
	streams []*stream
	counter *stream
	conns   []*conn // connections by file descriptor
	late    []time.Duration
	marks   []harness.Usage // CPU use at the start and at the end of the window
	counts  []Response
	err     error
}

func (g *generator) now() time.Duration { return time.Since(g.start) }

func (g *generator) end() time.Duration { return g.Warm + g.Window }

func (g *generator) inWindow(t time.Duration) bool { return t >= g.Warm && t < g.end() }

// run generates the load of s on this thread.
func run(s Spec) (*Report, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fifo := Realtime()
	g := &generator{Spec: s}
	if err := g.prepare(); err != nil {
		return nil, err
	}
	defer g.close()
	if err := g.loop(); err != nil {
		return nil, err
	}
	return g.report(fifo), nil
}

// prepare opens connections and allocates memory for the times before the window.
func (g *generator) prepare() (err error) {
	if g.target, err = resolve(g.Addr); err != nil {
		return err
	}
	if g.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("openloop: epoll: %w", err)
	}
	total := 0
	for _, o := range g.Open {
		expected := int(o.Rate*g.Window.Seconds()*1.2) + 100
		total += expected
		s := &stream{path: o.Path, open: true, rate: o.Rate, times: make([]time.Duration, 0, expected)}
		for range min(128, int(o.Rate/8)+1) {
			if err := g.connect(s); err != nil {
				return err
			}
		}
		g.streams = append(g.streams, s)
	}
	for _, c := range g.Closed {
		s := &stream{path: c.Path}
		for range c.InFlight {
			if err := g.connect(s); err != nil {
				return err
			}
		}
		g.streams = append(g.streams, s)
	}
	if g.Count != "" {
		g.counter = &stream{path: g.Count}
		if err := g.connect(g.counter); err != nil {
			return err
		}
	}
	g.late = make([]time.Duration, 0, total)
	return nil
}

// loop sends and reads until the window is over and the counter has answered.
func (g *generator) loop() error {
	g.start = time.Now()
	for _, s := range g.streams {
		if s.open {
			s.next = s.gap()
			continue
		}
		for len(s.free) > 0 {
			g.send(s, g.now())
		}
	}
	for g.err == nil && !g.over() {
		if now := g.now(); now > g.end()+patience {
			return fmt.Errorf("openloop: no response from %s within %v", g.Count, patience)
		}
		g.mark()
		g.sendDue()
		g.wait(g.nextDue())
	}
	return g.err
}

// finished reports whether the window is over and the counter was read.
func (g *generator) over() bool {
	if g.counter != nil {
		return len(g.counts) == 2
	}
	return len(g.marks) == 2
}

// recordUsage reads the CPU use and requests the counter at the start and at the end of the window.
func (g *generator) mark() {
	due := [...]time.Duration{g.Warm, g.end()}
	if len(g.marks) == len(due) || g.now() < due[len(g.marks)] || g.counter != nil && len(g.counter.free) == 0 {
		return
	}
	u, err := harness.Used(g.PIDs)
	if err != nil {
		g.err = err
		return
	}
	g.marks = append(g.marks, u)
	if g.counter != nil {
		g.send(g.counter, g.now())
	}
}

// sendDue sends the requests that are due.
func (g *generator) sendDue() {
	for _, s := range g.streams {
		for s.open && g.err == nil {
			now := g.now()
			if s.next > now {
				break
			}
			if g.inWindow(s.next) {
				g.late = append(g.late, now-s.next)
			}
			g.send(s, s.next)
			s.next += s.gap()
		}
	}
}

func (s *stream) gap() time.Duration {
	return time.Duration(rand.ExpFloat64() / s.rate * float64(time.Second))
}

// nextDue returns when the next request or reading is due.
func (g *generator) nextDue() time.Duration {
	due := g.end()
	switch {
	case len(g.marks) == 0:
		due = g.Warm
	case g.now() >= g.end():
		due = g.now() + time.Second
	}
	for _, s := range g.streams {
		if s.open {
			due = min(due, s.next)
		}
	}
	return due
}

// receive counts a complete response and makes its connection idle.
func (g *generator) receive(c *conn, body string) {
	now, s := g.now(), c.stream
	c.busy = false
	s.free = append(s.free, c)
	switch {
	case s == g.counter:
		g.counts = append(g.counts, Response{At: now, Body: body})
	case s.open:
		if g.inWindow(c.due) {
			s.times = append(s.times, now-c.due)
		}
	default:
		if g.inWindow(now) {
			s.done++
		}
		g.send(s, now)
	}
}

// report summarizes the run. A request without a response counts with its age.
func (g *generator) report(fifo bool) *Report {
	now := g.now()
	r := &Report{Late: Sorted(g.late), Counts: g.counts, FIFO: fifo}
	for _, s := range g.streams {
		if !s.open {
			r.Closed = append(r.Closed, s.done)
			continue
		}
		for _, c := range s.all {
			if c.busy && g.inWindow(c.due) {
				s.times = append(s.times, now-c.due)
				r.Unanswered++
			}
		}
		r.Open = append(r.Open, Sorted(s.times))
	}
	r.Own, r.Foreign = g.marks[0].Until(g.marks[1])
	return r
}

func (g *generator) close() {
	for _, c := range g.conns {
		if c != nil {
			_ = unix.Close(c.fd)
		}
	}
	_ = unix.Close(g.poll)
}
