package clientload

import (
	"sync"
	"time"
)

// settleTime is how long settle waits for the next missing message.
const settleTime = 10 * time.Second

// backAfter is the number of messages that have to arrive until a subscriber counts as back.
const backAfter = 3

// Messages records which messages were acknowledged, and which have arrived. Its methods may overlap.
type Messages struct {
	stored bool // the tags are: no message may be missing

	mu           sync.Mutex
	acknowledged map[string]bool // by id
	arrived      map[string]int
	missing      int             // acknowledged messages that have not arrived
	repeated     int             // arrivals after the first
	away         bool            // the subscriber may have no connection
	unheard      map[string]bool // acknowledged while away, and not arrived
}

func newMessages(stored bool) *Messages {
	return &Messages{stored: stored, acknowledged: map[string]bool{}, arrived: map[string]int{}, unheard: map[string]bool{}}
}

// acknowledge records that the publisher was told that a message is stored, or routed.
func (m *Messages) acknowledge(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.acknowledged[id] {
		return
	}
	m.acknowledged[id] = true
	switch {
	case m.arrived[id] > 0:
	case m.away:
		m.unheard[id] = true
	default:
		m.missing++
	}
}

// arrive records that a subscriber has received a message.
func (m *Messages) arrive(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrived[id]++
	switch {
	case m.arrived[id] > 1:
		m.repeated++
	case m.unheard[id]:
		delete(m.unheard, id)
	case m.acknowledged[id]:
		m.missing--
	}
}

// leave begins a time in which the subscriber may have no connection. Messages that are not stored, and are acknowledged in this time, have no
// receiver then. They count as unheard, and not as lost.
func (m *Messages) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = !m.stored
}

// back ends the time of leave, when messages arrive again. It waits for settleTime at most.
func (m *Messages) back() {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.arrived)
	for end := time.Now().Add(settleTime); m.away && len(m.arrived) < before+backAfter && time.Now().Before(end); {
		m.mu.Unlock()
		time.Sleep(time.Millisecond)
		m.mu.Lock()
	}
	m.away = false
}

// settle waits until all acknowledged messages have arrived, or until none has arrived for settleTime. It adds the counts to r.
func (m *Messages) settle(r *Report) {
	fewest, since := -1, time.Now()
	for {
		m.mu.Lock()
		missing := m.missing
		r.Acknowledged, r.Lost, r.Repeated, r.Unheard = len(m.acknowledged), missing, m.repeated, len(m.unheard)
		m.mu.Unlock()
		if fewest < 0 || missing < fewest {
			fewest, since = missing, time.Now()
		}
		if missing == 0 || time.Since(since) > settleTime {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
