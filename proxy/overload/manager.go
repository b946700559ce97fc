package overload

import (
	"context"
	"log/slog"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/membudget"
)

const (
	unusedInterval = time.Second            // between samples without a client: each sample wakes all loops
	calmInterval   = 100 * time.Millisecond // between samples
	busyInterval   = 10 * time.Millisecond  // between samples when memory is short: it may grow by a gigabyte a second
	busyMemory     = 0.6                    // part of the budget above which memory is short
	idleInterval   = time.Second            // between two calls of CloseIdle
	idlePart       = 8                      // CloseIdle closes one idle connection of so many
	freeInterval   = 5 * time.Second        // between two collections that return memory to the system
)

// Process is what a Manager measures.
type Process struct {
	MemoryBudget   int64        // bytes, used if Config.Memory is zero; 0 means that memory is not watched
	Memory         func() int64 // memory in use, in bytes
	Connections    func() int64 // open connections of all listeners
	MaxConnections func() int64 // largest number of connections; read by New and Use
	Loops          []Poster
}

// Actions are what a Manager does to the proxy. Its goroutine calls them; they must not block.
type Actions interface {
	// Shrink makes the queues of connections shorter, or sets them back. If done is false, it is called again.
	Shrink(on bool) (done bool)
	// CloseIdle closes those idle connections that have been idle longest: one of each part, rounded up.
	CloseIdle(part int)
}

// Manager samples the process and decides what is shed. Any goroutine may call State and Stats.
type Manager struct {
	process    Process
	actions    Actions
	limits     atomic.Pointer[limits]
	log        *slog.Logger
	state      State
	stats      atomic.Pointer[Stats]
	raised     [RefusingConnections + 1]atomic.Uint64
	controller controller
	lag        *lag

	// The fields below belong to Run.

	level     Level
	shrinking bool        // what Shrink was called with last
	idleAt    time.Time   // when CloseIdle was called last
	freedAt   time.Time   // when memory was returned to the system last
	freeing   atomic.Bool // memory is being returned
}

// Stats are a Manager's last sample, and what it decided.
type Stats struct {
	Sample
	Level  Level
	Share  float64                         // share of the requests that are refused
	Raised [RefusingConnections + 1]uint64 // how often each level was entered from a lower one

	MemoryBudget   int64         // bytes; 0 means that memory is not watched
	LagLimit       time.Duration // 0 means that the delay of loops is not watched
	MaxConnections int64
}

// New creates a Manager. cfg has passed Check. Call Run next.
func New(cfg *Config, p Process, a Actions, log *slog.Logger) *Manager {
	m := &Manager{process: p, actions: a, log: log, lag: newLag(p.Loops)}
	m.Use(cfg)
	m.controller.limits = *m.limits.Load()
	m.publish(Sample{}, 0)
	return m
}

// Use applies another configuration.
func (m *Manager) Use(cfg *Config) {
	l := &limits{memory: cfg.Budget(m.process.MemoryBudget), lag: cfg.loopLatency(), connections: m.process.MaxConnections()}
	if cfg.Off {
		l = &limits{}
	}
	m.limits.Store(l)
}

// State returns what listeners and requests ask.
func (m *Manager) State() *State { return &m.state }

// Stats returns the last sample and decision.
func (m *Manager) Stats() Stats {
	s := *m.stats.Load()
	for i := range m.raised {
		s.Raised[i] = m.raised[i].Load()
	}
	return s
}

// Run samples until ctx ends. Meanwhile Go's soft memory limit is a share of the budget, unless GOMEMLIMIT has set it:
// otherwise the garbage alone could exceed the budget.
func (m *Manager) Run(ctx context.Context) {
	setsGoLimit := debug.SetMemoryLimit(-1) == math.MaxInt64
	if setsGoLimit {
		defer debug.SetMemoryLimit(math.MaxInt64)
		setGoLimit(m.controller.limits.memory)
	}
	timer := time.NewTimer(calmInterval)
	defer timer.Stop()
	for last := time.Now(); ; {
		select {
		case <-timer.C:
		case <-ctx.Done():
			m.state.set(Normal, 0, false)
			return
		}
		if l := *m.limits.Load(); l != m.controller.limits {
			if setsGoLimit && l.memory != m.controller.limits.memory {
				setGoLimit(l.memory)
			}
			m.controller.limits = l
		}
		now := time.Now()
		s := Sample{Memory: m.process.Memory(), Lag: m.lag.measure(), Connections: m.process.Connections()}
		m.step(s, now, now.Sub(last))
		last = now
		timer.Reset(m.interval(s))
	}
}

// interval returns the time between sample s and the next one.
func (m *Manager) interval(s Sample) time.Duration {
	switch budget := m.controller.limits.memory; {
	case budget > 0 && float64(s.Memory) > busyMemory*float64(budget):
		return busyInterval
	case s.Connections == 0 && m.level == Normal:
		return unusedInterval
	}
	return calmInterval
}

// setGoLimit sets Go's soft memory limit for a budget in bytes; 0 means no budget.
func setGoLimit(budget int64) {
	limit := int64(math.MaxInt64)
	if budget > 0 {
		limit = int64(float64(budget) * membudget.GoShare)
	}
	debug.SetMemoryLimit(limit)
}

// step handles one sample, which was taken a time after the one before.
func (m *Manager) step(s Sample, now time.Time, since time.Duration) {
	level, share := m.controller.step(s, since)
	m.state.set(level, share, m.controller.shrinking)
	if level != m.level {
		m.logLevel(level, s)
		for l := m.level + 1; l <= level; l++ {
			m.raised[l].Add(1)
		}
		m.level = level
	}
	m.publish(s, share)
	if on := m.controller.shrinking; on != m.shrinking && m.actions.Shrink(on) {
		m.shrinking = on
	}
	if !m.controller.shrinking {
		return
	}
	if now.Sub(m.idleAt) >= idleInterval {
		m.idleAt = now
		m.actions.CloseIdle(idlePart)
	}
	if now.Sub(m.freedAt) >= freeInterval && m.freeing.CompareAndSwap(false, true) {
		m.freedAt = now
		go func() { // it takes as long as a collection
			debug.FreeOSMemory()
			m.freeing.Store(false)
		}()
	}
}

func (m *Manager) logLevel(level Level, s Sample) {
	l := &m.controller.limits
	args := []any{
		"level", level.String(), "memory", s.Memory, "budget", l.memory, "lag", s.Lag, "connections", s.Connections, "max_connections", l.connections,
	}
	if level > m.level {
		m.log.Warn("overload: shedding more", args...)
	} else {
		m.log.Info("overload: shedding less", args...)
	}
}

func (m *Manager) publish(s Sample, share float64) {
	l := &m.controller.limits
	m.stats.Store(&Stats{
		Sample: s, Level: m.level, Share: share, MemoryBudget: l.memory, LagLimit: l.lag, MaxConnections: l.connections,
	})
}
