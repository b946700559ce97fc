package keepalive

import (
	"cmp"
	"fmt"
	"time"

	"example.com/ferry/bench/internal/pinned"
)

// measurement holds the times of one Load, and its report. Times count from its start.
type measurement struct {
	Load
	start  time.Time
	report Report
	marks  []time.Duration // start and end of the window
	cpu    time.Duration   // CPU time of PIDs at the start of the window
}

// defaultPatience leaves time for the many requests in flight on one connection: they may be large, or may wait until a proxy has
// opened its connections.
const defaultPatience = 15 * time.Second

func newMeasurement(l Load) measurement {
	l.Patience = cmp.Or(l.Patience, defaultPatience)
	return measurement{Load: l, start: time.Now()}
}

func (l Load) validate() error {
	if l.Window <= 0 || l.Warm < 0 || l.Patience < 0 || l.Rate < 0 || l.Once < 0 || l.Once > 0 && l.Rate > 0 {
		return fmt.Errorf("keepalive: %+v: want a window, nothing below 0, and a rate or in flight", l)
	}
	return nil
}

func (m *measurement) now() time.Duration { return time.Since(m.start) }

func (m *measurement) end() time.Duration { return m.Warm + m.Window }

func (m *measurement) inWindow(t time.Duration) bool { return t >= m.Warm && t < m.end() }

// mark reads the CPU time of the processes at the start and at the end of the window.
func (m *measurement) mark() error {
	due := [...]time.Duration{m.Warm, m.end()}
	if len(m.marks) == len(due) || m.now() < due[len(m.marks)] {
		return nil
	}
	cpu, err := pinned.CPU(m.PIDs)
	m.marks = append(m.marks, m.now())
	if len(m.marks) == 1 {
		m.cpu = cpu
		return err
	}
	m.report.CPU = cpu - m.cpu
	m.report.Window = m.marks[1] - m.marks[0]
	return err
}

// dueAt returns the time when request i of an open loop is due.
func (m *measurement) dueAt(i int) time.Duration {
	return time.Duration(float64(i) / m.Rate * float64(time.Second))
}

// until returns when the client has to stop waiting for responses: request next is due, or the window begins or ends, or the
// last responses are late.
func (m *measurement) until(next int) time.Duration {
	until := m.end()
	switch {
	case len(m.marks) == 0:
		until = m.Warm
	case len(m.marks) == 2:
		until = m.end() + m.Patience
	}
	if m.Rate > 0 && m.dueAt(next) < m.end() {
		until = min(until, m.dueAt(next))
	}
	return until
}

// count counts a valid response to a request that was due or sent at a time.
func (m *measurement) count(due time.Duration) {
	now := m.now()
	if len(m.marks) == 1 {
		m.report.Requests++
	}
	if m.Rate == 0 && m.inWindow(now) || m.Rate > 0 && m.inWindow(due) {
		m.report.Times.Add(now - due)
	}
}
