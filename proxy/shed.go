package proxy

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/membudget"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/overload"
)

const (
	// connectionMemory is the memory that a client's connection takes, in bytes: 0.3 KB without TLS and 6 KB with it while it is
	// idle, and more during a request.
	connectionMemory = 8 << 10

	queuePart   = 4       // all queues together get this part of the memory budget before they are shortened
	leastQueues = 4 << 20 // bytes of queues that one loop gets in any case
	shrunkPart  = 4       // all queues together get this part of it while memory is short
)

// queueMemory returns loop.Config.QueueMemory for a number of loops, in bytes.
func queueMemory(budget int64, loops int) int {
	if budget <= 0 {
		return math.MaxInt
	}
	return int(min(max(budget/queuePart/int64(loops), leastQueues), math.MaxInt))
}

// maxConnections returns the largest number of clients. Without a value in the configuration, idle connections may take half of
// the memory budget, which is allowed unless the configuration has another.
func (c *Config) maxConnections(allowed int64) int {
	if c.MaxConnections > 0 {
		return c.MaxConnections
	}
	budget := allowed
	if c.Overload.Memory > 0 {
		budget = int64(c.Overload.Memory)
	}
	most := loop.DefaultMaxConns()
	if budget > 0 {
		most = min(most, max(int(min(budget/2/connectionMemory, int64(most))), 64))
	}
	return most
}

// shedder does what the overload manager decides.
type shedder struct {
	group    *loop.Group
	allowed  int64 // memory that the system allows, in bytes; 0 if that is not known
	services atomic.Pointer[[]*terminator]
	memory   atomic.Int64 // loop.Config.QueueMemory while the queues are not made shorter
	shrink   atomic.Bool
	closed   atomic.Uint64 // idle connections that were closed
}

var _ overload.Actions = (*shedder)(nil)

// newManager starts the overload manager. budget is the memory that the system allows, in bytes.
func (p *Proxy) newManager(cfg *overload.Config, budget int64) {
	p.shedder.group, p.shedder.allowed = p.group, budget
	p.shedder.services.Store(&[]*terminator{})
	process := overload.Process{
		MemoryBudget: budget, Memory: membudget.Used, Connections: p.conns.Open, MaxConnections: p.conns.Max,
	}
	for _, l := range p.group.Loops() {
		process.Loops = append(process.Loops, l)
	}
	p.overload = overload.New(cfg, process, &p.shedder, p.log)
	p.conns.Overload = p.overload.State()
	ctx, stop := context.WithCancel(context.Background())
	p.stopManager = stop
	go p.overload.Run(ctx)
}

// setMaxConnections applies the largest number of clients of a configuration.
func (p *Proxy) setMaxConnections(cfg *Config) {
	n := cfg.maxConnections(p.shedder.allowed)
	if int64(n) == p.conns.Max() {
		return
	}
	p.conns.SetMax(n)
	p.group.SetMaxConns(cfg.loops(n).MaxConns)
	p.log.Info("connections that are accepted", "max_connections", n)
}

// use applies a configuration: its memory budget, and its listeners, whose idle connections may be closed.
func (s *shedder) use(p *parts) {
	services := make([]*terminator, 0, len(p.listeners))
	for _, l := range p.listeners {
		services = append(services, l.service)
	}
	s.services.Store(&services)
	s.memory.Store(int64(queueMemory(p.cfg.Overload.Budget(s.allowed), len(s.group.Loops()))))
	for _, l := range s.group.Loops() {
		_ = l.PostWait(context.Background(), func() { s.limitQueues(l) }) // an error means that the loop has ended
	}
}

// limitQueues sets the memory that the queues of a loop may take.
func (s *shedder) limitQueues(l *loop.Loop) {
	if s.shrink.Load() {
		l.SetQueueMemory(int(s.memory.Load() / shrunkPart))
	} else {
		l.SetQueueMemory(int(s.memory.Load()))
	}
}

// Shrink is a method of overload.Actions.
func (s *shedder) Shrink(on bool) (done bool) {
	s.shrink.Store(on)
	done = true
	for _, l := range s.group.Loops() {
		done = l.Post(func() { s.limitQueues(l) }) == nil && done
	}
	return done
}

// CloseIdle is a method of overload.Actions.
func (s *shedder) CloseIdle(part int) {
	services := *s.services.Load()
	for _, l := range s.group.Loops() {
		_ = l.Post(func() { s.closeIdle(l, services, part) }) // after an error, the next call does it
	}
}

// idleConn is a connection without a request.
type idleConn struct {
	conn    *loop.Conn
	handler loop.Shutdowner
	until   time.Duration // when it is closed if it stays idle
}

func (s *shedder) closeIdle(l *loop.Loop, services []*terminator, part int) {
	var idle []idleConn
	for c, h := range l.All() {
		for _, service := range services {
			if until, is := service.IdleUntil(c, h); is {
				if d, ok := h.(loop.Shutdowner); ok {
					idle = append(idle, idleConn{c, d, until})
				}
				break
			}
		}
	}
	slices.SortFunc(idle, func(a, b idleConn) int { return cmp.Compare(a.until, b.until) })
	idle = idle[:(len(idle)+part-1)/part]
	for _, i := range idle {
		i.handler.Shutdown(i.conn)
	}
	s.closed.Add(uint64(len(idle)))
}
