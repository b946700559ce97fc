package history

import (
	"sync"
	"time"
)

// History is a list of events. Its zero value is empty. All methods may overlap; the order of their calls is the order of the
// events.
//
// A message is a key and a number. The sender of a key numbers its messages from 1, in the order in which it sends them.
type History struct {
	mu     sync.Mutex
	events []event
	keys   map[string]int32 // index of a key in names
	names  []string
	faults []fault

	seen      map[message]seen
	unhandled int
	times     int // that messages were handled
}

// seen says which events a message has had.
type seen struct{ stored, handled bool }

// kind is the kind of an event.
type kind uint8

const (
	sent kind = iota
	stored
	handled
	failed
)

type event struct {
	at     time.Time
	kind   kind
	key    int32 // index in History.names
	number uint64
	by     string
}

// fault is a failure of the environment, such as the end of a process. It lasts from one event to another.
type fault struct {
	what       string
	begin, end int // indices of the first event after it began and after it ended; end is -1 while it lasts
}

// Sent records that a message is about to be sent.
func (h *History) Sent(key string, number uint64) { h.add(sent, key, number, "") }

// Stored records that the sender was told that the message is stored.
func (h *History) Stored(key string, number uint64) { h.add(stored, key, number, "") }

// Handled records that a function begins to handle the message. by names the function for the report.
func (h *History) Handled(key string, number uint64, by string) { h.add(handled, key, number, by) }

// Failed records that the function fails, so that the message is delivered again.
func (h *History) Failed(key string, number uint64, by string) { h.add(failed, key, number, by) }

// Fault records that something fails that may lose acknowledgements. Messages that are handled before the returned function is
// called may be handled again.
func (h *History) Fault(what string) (ended func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := len(h.faults)
	h.faults = append(h.faults, fault{what: what, begin: len(h.events), end: -1})
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.faults[i].end < 0 {
			h.faults[i].end = len(h.events)
		}
	}
}

func (h *History) add(k kind, key string, number uint64, by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, ok := h.keys[key]
	if !ok {
		if h.keys == nil {
			h.keys = map[string]int32{}
		}
		i = int32(len(h.names))
		h.keys[key] = i
		h.names = append(h.names, key)
	}
	h.events = append(h.events, event{time.Now(), k, i, number, by})
	if k == handled {
		h.times++
	}
	if k == stored || k == handled {
		h.see(message{i, number}, k)
	}
}

func (h *History) see(m message, k kind) {
	if h.seen == nil {
		h.seen = map[message]seen{}
	}
	before := h.seen[m]
	now := seen{stored: before.stored || k == stored, handled: before.handled || k == handled}
	h.seen[m] = now
	waits := func(s seen) bool { return s.stored && !s.handled }
	if waits(now) != waits(before) {
		if waits(now) {
			h.unhandled++
		} else {
			h.unhandled--
		}
	}
}

// Unhandled returns how many messages are stored and not handled yet.
func (h *History) Unhandled() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unhandled
}

// Times returns how many times messages were handled.
func (h *History) Times() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.times
}

// message identifies a message of a History.
type message struct {
	key    int32
	number uint64
}
