package node

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker/stats"
	"example.com/ferry/node/admin"
)

// functionCalls are the calls of a function since the node has it. A start of the function does not reset them.
type functionCalls struct {
	active atomic.Int64 // messages that are being handled

	mu      sync.Mutex
	took    stats.Latency // of each message
	lastErr string        // of the last call, or end, that failed; at most maxLastError bytes
	lastAt  time.Time
}

// maxLastError bounds the text that is kept of an error, in bytes.
const maxLastError = 1 << 10

// meter returns next with its calls counted. It has HandleBatch if next has.
func (c *functionCalls) meter(next ferry.Handler) ferry.Handler {
	h := &meteredHandler{c, next}
	if batch, ok := next.(ferry.BatchHandler); ok {
		return &meteredBatchHandler{h, batch}
	}
	return h
}

// begin counts a call with so many messages that begins.
func (c *functionCalls) begin(messages int) time.Time {
	c.active.Add(int64(messages))
	return time.Now()
}

// end is deferred, and counts a call that ends. Each message of a batch counts as long as the others. A panic is an error here, and goes on.
func (c *functionCalls) end(ctx context.Context, began time.Time, messages int, err *error) {
	took := time.Since(began) / time.Duration(max(messages, 1))
	c.active.Add(-int64(messages))
	v := recover()
	if v != nil {
		*err = fmt.Errorf("panic: %v", v)
	}
	c.mu.Lock()
	c.took.Count(int64(took), messages)
	if *err != nil && ctx.Err() == nil { // what ends because the function is stopped has not failed
		c.note(*err)
	}
	c.mu.Unlock()
	if v != nil {
		panic(v)
	}
}

// failed notes why the function has ended or does not start.
func (c *functionCalls) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(err)
}

// note keeps an error. c.mu is held.
func (c *functionCalls) note(err error) {
	text := err.Error()
	c.lastErr, c.lastAt = strings.ToValidUTF8(strings.Clone(text[:min(len(text), maxLastError)]), ""), time.Now()
}

// fill writes what is known of the calls into s.
func (c *functionCalls) fill(s *admin.Function) {
	s.Active = c.active.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Took, s.LastError, s.LastErrorAt = admin.HistogramOf(c.took), c.lastErr, c.lastAt
}

// meteredHandler counts the calls of a handler.
type meteredHandler struct {
	calls *functionCalls
	next  ferry.Handler
}

// Handle calls the handler.
func (h *meteredHandler) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) (err error) {
	began := h.calls.begin(1)
	defer h.calls.end(ctx, began, 1, &err)
	return h.next.Handle(ctx, in, out)
}

// meteredBatchHandler counts the calls of a handler of batches.
type meteredBatchHandler struct {
	*meteredHandler
	next ferry.BatchHandler
}

// HandleBatch calls the handler.
func (h *meteredBatchHandler) HandleBatch(ctx context.Context, in []ferry.Message, out ferry.Sender) (err error) {
	began := h.calls.begin(len(in))
	defer h.calls.end(ctx, began, len(in), &err)
	return h.next.HandleBatch(ctx, in, out)
}
