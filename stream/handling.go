package stream

import (
	"context"
	"sync"

	"example.com/ferry"
)

// handling is one call of a durable's handler, and the Sender of that call. Its messages are acknowledged once the handler has
// returned and the node has stored what the handler has sent to stored tags. If the node drops some of that, the messages have failed.
//
//	begin ──► running ──end──► unstored ──last output──► closed: ACK, or NAK
//	             └──── end, nothing was sent to stored tags ──┘
//
// What a handler sends after it has returned is published, and no acknowledgement waits for it.
type handling struct {
	client *Client
	member *membership

	mu       sync.Mutex
	from     descent      // of what the handler sends
	refusing *refusedKeys // of the inbox of the messages
	messages []handled    // to acknowledge
	waits    int          // outputs that are not stored, and 1 while the handler runs
	used     bool         // the handler has sent something, so it may hold h longer than its call
	unstored bool         // the handler has returned, and outputs are not stored
	err      error        // why an output was dropped
}

// handled is a message whose handler has returned nil.
type handled struct {
	sequence uint64
	key      string // that orders it; empty if nothing can make the message fail any more
}

var _ ferry.Sender = (*handling)(nil)

// begin returns a handling for the next call, with messages of m that have come through so many functions. It is last, if that can be used
// again.
func (last *handling) begin(c *Client, m *membership, refusing *refusedKeys, functions uint8) *handling {
	if last != nil && last.member == m {
		last.mu.Lock()
		defer last.mu.Unlock()
		if !last.used {
			last.refusing, last.messages, last.waits, last.from.functions = refusing, last.messages[:0], 1, functions
			return last
		}
	}
	return &handling{client: c, member: m, from: descent{true, functions}, refusing: refusing, waits: 1}
}

// Send publishes a message; see ferry.Sender. A message in a spool counts as stored.
func (h *handling) Send(ctx context.Context, m ferry.Message) error {
	if h.client.spooler != nil && m.To == 0 {
		return h.client.Send(ctx, m)
	}
	s, err := h.client.sourceOf(ctx, m.Tag)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.used = true
	h.waits++
	from := h.from
	h.mu.Unlock()
	kept, err := s.send(ctx, &m, sending{told: h, from: from})
	if !kept {
		h.settle(nil)
	}
	return err
}

// end is called when the handler has returned. done are the messages that it has handled without an error.
func (h *handling) end(done []ferry.Message) {
	h.mu.Lock()
	h.unstored = h.waits > 1 && len(done) > 0
	h.messages = h.messages[:0]
	for i := range done {
		m := handled{sequence: done[i].Sequence}
		if h.unstored || h.err != nil {
			m.key = orderKey(&done[i])
		}
		h.messages = append(h.messages, m)
	}
	if h.unstored {
		h.member.addUnstored(len(done))
	}
	h.mu.Unlock()
	h.settle(nil)
}

// settle notes that the handler has returned, or that an output is stored or was dropped.
func (h *handling) settle(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && h.err == nil {
		h.err = err
	}
	if h.waits--; h.waits > 0 {
		return
	}
	if h.err != nil {
		h.fail()
	} else {
		for _, m := range h.messages {
			h.member.ack(m.sequence)
		}
	}
	if h.unstored {
		h.member.addUnstored(-len(h.messages))
	}
	h.messages, h.unstored = h.messages[:0], false
}

// fail returns the messages to the node. From now on, later messages with their keys wait for them. The handler may have begun some
// before an output was dropped: those are not held back. The caller holds the lock.
func (h *handling) fail() {
	for _, m := range h.messages {
		h.refusing.add(m.key, m.sequence)
		h.member.nak(m.sequence, h.err)
	}
	h.member.flush()
	for _, m := range h.messages {
		h.refusing.sent(m.key)
	}
}
