package mqttbridge

import (
	"strings"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/internal/mqttmessage"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// tag is a tag whose messages go to the other broker.
type tag struct {
	bridge *Bridge
	name   string
}

// item is a message to the other broker.
type item struct {
	tag       string
	typ       ferry.Type
	time      int64  // Unix nanoseconds
	path      string // the nodes that the message has passed, this one excluded; a slash separates them
	extension []byte // entries of the PUB
	payload   []byte
	from      broker.Origin // the publisher; nil for a record of the spool
}

// size returns the bytes that count as memory of the message.
func (m *item) size() int {
	return 128 + len(m.tag) + len(m.path) + len(m.extension) + len(m.payload)
}

// queue is messages in order.
type queue struct {
	peer.FIFO[item]
	bytes int
}

func (q *queue) push(m item) {
	q.Push(m)
	q.bytes += m.size()
}

func (q *queue) pop() item {
	m := q.Pop()
	q.bytes -= m.size()
	return m
}

// Forward takes a run of n frames. See broker.ForwardedTag.
func (t tag) Forward(run []byte, n int, path *native.Path, from broker.Origin, _ *peer.Unflushed) (position uint64, full bool) {
	b := t.bridge
	passed := ""
	if path != nil {
		passed = strings.Join(*path, "/")
	}
	b.mu.Lock()
	if b.closed {
		b.drop(dropClosed, n)
		position = b.pushed
		b.mu.Unlock()
		return position, false
	}
	for len(run) > 0 {
		f := native.Frame(run[:native.Size(run)])
		run = run[len(f):]
		if path == nil && b.conn != nil && f.Source() == b.conn.source() {
			b.stats.Returned++
			continue
		}
		payload, extension := f.Payload(), f.Extension()
		if hasPassed(string(pathOf(mqttmessage.EntryOf(extension).Properties)), b.cfg.Node) {
			b.stats.Returned++
			continue
		}
		kept := append(append(make([]byte, 0, len(extension)+len(payload)), extension...), payload...)
		b.waiting.push(item{t.name, f.Type(), f.Time(), passed, kept[:len(extension):len(extension)], kept[len(extension):], from})
		b.pushed++
	}
	position, full = b.pushed, b.full()
	store := b.mustStore()
	b.mu.Unlock()
	if store {
		signal(b.storeSoon)
	}
	signal(b.sendSoon)
	return position, full
}
