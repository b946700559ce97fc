package stream

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// creditReturn returns credit to the node for handled messages of one subscription and tag.
type creditReturn struct {
	conn         *conn
	subscription uint32
	tag          uint32 // tag number
	window       int
	mu           sync.Mutex
	handled      int // handled bytes whose credit is not yet returned
}

// add counts n handled bytes. It sends CREDIT once the counted bytes reach half of the window.
func (c *creditReturn) add(n int) {
	c.mu.Lock()
	c.handled += n
	if n = c.handled; n >= (c.window+1)/2 {
		c.handled = 0
	} else {
		n = 0
	}
	c.mu.Unlock()
	if n > 0 {
		c.conn.peer.Tell(func(b []byte) []byte {
			return native.AppendCredit(b, native.CreditFrame{Sub: c.subscription, Tag: c.tag, Bytes: uint32(n)})
		})
	}
}

// inbox holds the messages of one tag and one shard of the sources until the handler has handled them. The function's
// window bounds its size.
type inbox struct {
	pool   *pool
	tag    string
	shard  uint32
	credit *creditReturn // nil if the messages come from a stream

	mu     sync.Mutex
	frames peer.Queue
	active bool // the inbox is in the pool's queue, or is being handled

	stored storedInbox
}

func (in *inbox) push(frames []byte, shared *bufpool.Buf) {
	in.mu.Lock()
	in.frames.Push(frames, shared)
	submit := !in.active
	in.active = true
	in.mu.Unlock()
	if submit {
		in.pool.submit(in)
	}
}

// worker calls a function's handler in one goroutine of its pool.
type worker struct {
	msg      ferry.Message
	msgs     []ferry.Message
	out      *output   // nil before the first call with a message of no durable
	handling *handling // of the last call with a message of a durable
	loggedAt time.Time // when this worker last logged a failure
}

// handleFront handles the oldest contiguous messages of in. It reports whether more messages wait.
func (w *worker) handleFront(p *pool, in *inbox) (more bool) {
	in.mu.Lock()
	piece := *in.frames.Front()
	piece.Buf.Retain()
	in.frames.Cut(len(piece.Frames))
	from := in.stored.cut(len(piece.Frames))
	in.mu.Unlock()
	defer piece.Buf.Release()
	switch {
	case from.member != nil && p.batch != nil:
		w.handleStoredBatch(p, in, piece, from)
	case from.member != nil:
		w.handleStored(p, in, piece, from)
	case p.batch != nil:
		w.handleBatch(p, in, piece)
	default:
		w.handleEach(p, in, piece)
	}
	in.mu.Lock()
	more = in.frames.Bytes() > 0
	in.active = more
	in.mu.Unlock()
	return more
}

func (in *inbox) message(f native.Frame, buf *bufpool.Buf) ferry.Message {
	m := ferry.Message{}.Borrowed(buf)
	in.fill(&m, f)
	return m
}

// fill sets the fields of m from f. m is a message without Key, ID and To, which stay empty if f has none.
func (in *inbox) fill(m *ferry.Message, f native.Frame) {
	m.Tag, m.Type, m.Payload, m.Time, m.Source = in.tag, f.Type(), f.Payload(), f.Time(), f.Source()
	if f.Flags()&native.FlagAddressed != 0 {
		m.Source, m.To = 0, f.Source()
	}
	if e := f.Extension(); len(e) > 0 {
		m.Key, _ = native.Entry(e, native.TLVKey)
		id, _ := native.Entry(e, native.TLVID)
		m.ID = string(id)
	}
}

// handleEach calls the handler for one message after the other. It returns credit after each eighth of the window. So
// the node continues to send while a slow handler works.
func (w *worker) handleEach(p *pool, in *inbox, piece peer.Piece) {
	messages, bytes := uint64(0), 0
	count := func() {
		p.client.stats.handled.Add(messages)
		in.credit.add(bytes)
		messages, bytes = 0, 0
	}
	for b := piece.Frames; len(b) > 0 && p.ctx.Err() == nil; {
		n := native.Size(b)
		w.msg = in.message(native.Frame(b[:n:n]), piece.Buf)
		_ = w.call(p, in, func() error { return p.handler.Handle(p.ctx, &w.msg, w.output(p, b[:n:n])) }) // counted and logged
		messages++
		if bytes += n; bytes >= p.window/8 {
			count()
		}
		b = b[n:]
	}
	count()
}

func (w *worker) handleBatch(p *pool, in *inbox, piece peer.Piece) {
	w.msgs = w.msgs[:0]
	empty := ferry.Message{}.Borrowed(piece.Buf)
	for b := piece.Frames; len(b) > 0; {
		n := native.Size(b)
		w.msgs = append(w.msgs, empty)
		in.fill(&w.msgs[len(w.msgs)-1], native.Frame(b[:n:n]))
		b = b[n:]
	}
	p.client.stats.handled.Add(uint64(len(w.msgs)))
	_ = w.call(p, in, func() error { return p.batch.HandleBatch(p.ctx, w.msgs, w.output(p, piece.Frames)) }) // counted and logged
	in.credit.add(len(piece.Frames))
	clear(w.msgs)
}

// output returns the Sender of a call with the messages of frames.
func (w *worker) output(p *pool, frames []byte) ferry.Sender {
	if w.out == nil {
		w.out = &output{client: p.client}
	}
	w.out.functions.Store(uint32(functionsOf(frames)))
	return w.out
}

// call calls a handler through handle. It counts and logs an error or a panic, and returns it.
func (w *worker) call(p *pool, in *inbox, handle func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
		if err == nil || p.ctx.Err() != nil {
			return
		}
		count := countFailed(err)
		if count == 0 {
			return
		}
		failed := p.client.stats.failed.Add(count)
		if now := time.Now(); now.Sub(w.loggedAt) > failureLogInterval {
			w.loggedAt = now
			p.client.cfg.Log.Error("stream: handler failed", "tag", in.tag, "err", err, "failed", failed)
		}
	}()
	return handle()
}

// countFailed returns the number of messages that have failed with err.
func countFailed(err error) (n uint64) {
	var batch ferry.BatchError
	if !errors.As(err, &batch) {
		return 1
	}
	for _, each := range batch {
		if !errors.Is(each, ferry.ErrNotTried) {
			n++
		}
	}
	return n
}

// failureLogInterval is the shortest time between two failures that one worker logs.
const failureLogInterval = 10 * time.Second
