package stream

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// reader takes what arrives on one stream of a connection, and puts messages into the inboxes of its functions.
type reader struct {
	conn     *conn
	tags     map[uint32]*observedTag // by number
	selected *subscription           // of the PUBs that follow; nil for one that was given up
	last     *inbox                  // of the last run
	lastTag  uint32
}

// observedTag is a tag that the node has announced on the stream. A later announcement of its number replaces it.
type observedTag struct {
	name     string
	inboxes  map[inboxKey]*inbox
	accounts map[uint32]*account // by subscription
}

// inboxKey tells apart the messages of one tag that may be handled at once.
type inboxKey struct {
	sub   uint32
	shard uint32 // of the source
}

// BatchBegins does nothing: an inbox wakes its worker by itself.
func (r *reader) BatchBegins() {}

// BatchEnds does nothing.
func (r *reader) BatchEnds() {}

// BeforePong does nothing: the node learns by CREDIT what was handled.
func (r *reader) BeforePong() {}

// selectSub makes id the subscription that the PUBs behind it are for.
func (r *reader) selectSub(id uint32) {
	r.conn.mu.Lock()
	r.selected = r.conn.subs[id]
	r.conn.mu.Unlock()
	r.last = nil
}

func (r *reader) announced(t native.TagFrame) {
	if known := r.tags[t.Ref]; known == nil || known.name != t.Name {
		r.tags[t.Ref] = &observedTag{name: t.Name, inboxes: map[inboxKey]*inbox{}, accounts: map[uint32]*account{}}
		r.last = nil
	}
}

// Pubs puts the leading PUBs of batch that share an inbox there, and returns their length.
func (r *reader) Pubs(batch []byte, own *bufpool.Buf) (int, error) {
	first := native.Frame(batch)
	if r.selected == nil {
		return native.Size(batch), nil // its function was stopped
	}
	shards := uint32(r.selected.pool.limit)
	shard := uint32(first.Source()) % shards
	in := r.last
	if in == nil || r.lastTag != first.Tag() || in.shard != shard {
		t := r.tags[first.Tag()]
		if t == nil {
			return 0, &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("PUB on tag number %d, which was not announced", first.Tag())}
		}
		key := inboxKey{r.selected.id, shard}
		if in = t.inboxes[key]; in == nil {
			in = &inbox{sub: r.selected, tag: t.name, shard: shard, account: r.account(t, first.Tag())}
			t.inboxes[key] = in
		}
		r.last, r.lastTag = in, first.Tag()
	}
	end := native.Size(batch)
	for end < len(batch) {
		f := native.Frame(batch[end:])
		if f.Kind() != native.Pub || f.Tag() != r.lastTag || uint32(f.Source())%shards != shard {
			break
		}
		end += native.Size(f)
	}
	in.put(batch[:end], own)
	return end, nil
}

// account returns where the consumption of the selected subscription's messages on a tag is summed up, whatever the shard.
func (r *reader) account(t *observedTag, number uint32) *account {
	a := t.accounts[r.selected.id]
	if a == nil {
		a = &account{conn: r.conn, sub: r.selected.id, tag: number, window: r.selected.pool.window}
		t.accounts[r.selected.id] = a
	}
	return a
}

// account owes the node credit for what was handled of one tag.
type account struct {
	conn     *conn
	sub, tag uint32
	window   int
	mu       sync.Mutex
	owed     int
}

// add gives credit back once half the window is owed.
func (a *account) add(n int) {
	a.mu.Lock()
	a.owed += n
	if n = a.owed; n >= (a.window+1)/2 {
		a.owed = 0
	} else {
		n = 0
	}
	a.mu.Unlock()
	if n > 0 {
		a.conn.peer.Tell(func(b []byte) []byte {
			return native.AppendCredit(b, native.CreditFrame{Sub: a.sub, Tag: a.tag, Bytes: uint32(n)})
		})
	}
}

// inbox is the messages of one tag, and one shard of its sources, that wait for the handler. The credit the function
// has given bounds it.
type inbox struct {
	sub     *subscription
	tag     string
	shard   uint32
	account *account

	mu    sync.Mutex
	queue peer.Queue
	busy  bool // a worker has it, or will
}

func (in *inbox) put(frames []byte, own *bufpool.Buf) {
	in.mu.Lock()
	in.queue.Push(frames, own)
	wake := !in.busy
	in.busy = true
	in.mu.Unlock()
	if wake {
		in.sub.pool.submit(in)
	}
}

// worker is what one goroutine of a pool calls handlers with.
type worker struct {
	msg    ferry.Message
	msgs   []ferry.Message
	failed time.Time // when the last failure was logged
}

// turn handles what lies together at the front of in. It reports whether there is more.
func (w *worker) turn(p *pool, in *inbox) (more bool) {
	in.mu.Lock()
	piece := *in.queue.Front()
	piece.Buf.Retain()
	in.queue.Cut(len(piece.Frames))
	in.mu.Unlock()
	defer piece.Buf.Release()
	if p.batch != nil {
		w.handleBatch(p, in, piece)
	} else {
		w.handleEach(p, in, piece)
	}
	in.mu.Lock()
	more = in.queue.Bytes() > 0
	in.busy = more
	in.mu.Unlock()
	return more
}

func (in *inbox) message(f native.Frame, buf *bufpool.Buf) ferry.Message {
	m := ferry.Message{Tag: in.tag, Type: f.Type(), Payload: f.Payload(), Time: f.Time(), Source: f.Source()}
	if f.Flags()&native.FlagAddressed != 0 {
		m.Source, m.To = 0, f.Source()
	}
	return m.Borrowed(buf)
}

// handleEach calls the handler for one message after the other. It says what was handled whenever it has come to a part
// of the window, so that a slow handler's credit comes back while it goes on.
func (w *worker) handleEach(p *pool, in *inbox, piece peer.Piece) {
	messages, bytes := uint64(0), 0
	tell := func() {
		p.client.stats.handled.Add(messages)
		in.account.add(bytes)
		messages, bytes = 0, 0
	}
	for b := piece.Frames; len(b) > 0 && p.ctx.Err() == nil; {
		n := native.Size(b)
		w.msg = in.message(native.Frame(b[:n:n]), piece.Buf)
		w.guard(p, in, func() error { return p.handler.Handle(p.ctx, &w.msg, p.client) })
		messages++
		if bytes += n; bytes >= p.window/8 {
			tell()
		}
		b = b[n:]
	}
	tell()
}

func (w *worker) handleBatch(p *pool, in *inbox, piece peer.Piece) {
	w.msgs = w.msgs[:0]
	for b := piece.Frames; len(b) > 0; b = b[native.Size(b):] {
		n := native.Size(b)
		w.msgs = append(w.msgs, in.message(native.Frame(b[:n:n]), piece.Buf))
	}
	p.client.stats.handled.Add(uint64(len(w.msgs)))
	w.guard(p, in, func() error { return p.batch.HandleBatch(p.ctx, w.msgs, p.client) })
	in.account.add(len(piece.Frames))
	clear(w.msgs)
}

// guard counts what goes wrong in a handler and goes on: a function that fails on one message is asked about the next.
func (w *worker) guard(p *pool, in *inbox, call func() error) {
	var err error
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
		if err == nil || p.ctx.Err() != nil {
			return
		}
		failed := p.client.stats.failed.Add(1)
		if now := time.Now(); now.Sub(w.failed) > tooLong {
			w.failed = now
			p.client.cfg.Log.Error("stream: handler failed", "tag", in.tag, "err", err, "failed so far", failed)
		}
	}()
	err = call()
}

// tooLong is how often a worker whose handler goes on failing says so in the log.
const tooLong = 10 * time.Second
