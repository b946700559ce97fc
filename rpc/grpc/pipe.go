package grpc

import (
	"context"
	"io"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
)

// pipe is the part of a call that both ends have: messages in both directions on one stream. The connection's Handler adds what
// arrives, and the goroutine of Recv takes it: all that has arrived at once, so it needs the lock once for many small messages.
type pipe struct {
	link *link

	// These fields are guarded by the lock of the connection.
	stream *http2.Stream // nil before the call's first frame, and after its release
	in     *bufpool.Buf  // bytes of messages that Recv has not taken; nil if there are none
	owed   int           // bytes whose credit is not given back
	counts counts        // on a server
	want   int           // bytes of in that Recv waits for; 0 if it does not wait
	inEnd  bool          // nothing more arrives
	broken *call.Status  // why no message can be sent or received any more

	// A token in one of these channels, which have room for one, says that Recv or Send should look again.
	readable, writable chan struct{}

	// These fields belong to the goroutine of Recv.
	taken    *bufpool.Buf // bytes taken from in
	off      int          // bytes of taken that are passed on
	expanded *bufpool.Buf // the last message, if it was compressed
	encoding string       // of the messages that arrive; set before the first of them
}

// counts are the bytes of a pipe that its connection's account has.
type counts struct {
	all      int  // of in, of taken, and of messages whose rest Send or Finish holds
	taken    int  // of taken alone
	expanded int  // of expanded, or reserved for it
	closed   bool // the call has ended: what is left to its handler is not counted
}

// hold counts n bytes. It needs the lock.
func (p *pipe) hold(n int) {
	if p.link.server && !p.counts.closed {
		p.counts.all += n
		p.link.account.Add(n)
	}
}

// holdTaken replaces the number of bytes that count as taken. It needs the lock.
func (p *pipe) holdTaken(n int) {
	p.hold(n - p.counts.taken)
	p.counts.taken = n
}

// returnExpanded gives back all but n of the bytes for an expanded message. It needs the lock.
func (p *pipe) returnExpanded(n int) {
	if p.link.server && !p.counts.closed {
		p.link.account.Return(p.counts.expanded - n)
		p.counts.expanded = n
	}
}

// stopCounting ends the counting. It needs the lock.
func (p *pipe) stopCounting() {
	p.hold(-p.counts.all)
	p.returnExpanded(0)
	p.counts = counts{closed: true}
}

func newPipe(l *link) pipe {
	return pipe{link: l, readable: make(chan struct{}, 1), writable: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// arrive adds a piece of the peer's messages. It needs the lock.
func (p *pipe) arrive(piece []byte) {
	if p.inEnd || len(piece) == 0 {
		return
	}
	switch {
	case p.in == nil:
		p.in = bufpool.Get(len(piece))
	case len(p.in.B)+len(piece) > cap(p.in.B):
		grown := bufpool.Get(max(2*cap(p.in.B), len(p.in.B)+len(piece)))
		grown.B = append(grown.B, p.in.B...)
		p.in.Release()
		p.in = grown
	}
	p.in.B = append(p.in.B, piece...)
	p.hold(len(piece))
	p.owed += len(piece)
	p.look()
}

// look wakes Recv if it can go on, and gives back credit if it waits for more of a message. It needs the lock.
func (p *pipe) look() {
	switch {
	case p.want == 0:
	case p.inEnd || p.arrived() >= p.want:
		p.want = 0
		signal(p.readable)
	default:
		p.giveCredit()
	}
}

// arrived returns the number of bytes that Recv has not taken. It needs the lock.
func (p *pipe) arrived() int {
	if p.in == nil {
		return 0
	}
	return len(p.in.B)
}

// giveCredit lets the peer send as much as it has sent. It needs the lock.
func (p *pipe) giveCredit() {
	if p.stream != nil {
		p.stream.Consumed(p.owed)
	}
	p.owed = 0
}

// end says that nothing more arrives. A status ends the other direction, too. It needs the lock. The goroutine of a unary call goes on
// without the lock, and may use p again: nothing else may follow.
func (p *pipe) end(broken *call.Status) {
	p.inEnd = true
	if p.broken == nil {
		p.broken = broken
	}
	p.want = 0
	signal(p.writable)
	signal(p.readable)
}

// dropArrived discards what has arrived. It needs the lock.
func (p *pipe) dropArrived() {
	p.inEnd = true
	if p.in != nil {
		p.hold(-len(p.in.B))
		p.in.Release()
		p.in = nil
	}
}

// dropTaken discards what Recv has taken. Its last message is no longer valid.
func (p *pipe) dropTaken() {
	if p.taken != nil {
		p.taken.Release()
		p.taken, p.off = nil, 0
	}
	if p.expanded != nil {
		p.expanded.Release()
		p.expanded = nil
	}
}

// recv returns the next message. The error is io.EOF after the last one, and otherwise a *call.Status. The end of ctx ends the wait.
func (p *pipe) recv(ctx context.Context) ([]byte, error) {
	p.dropExpanded()
	for {
		size := prefixSize
		if p.taken != nil {
			rest := p.taken.B[p.off:]
			var status *call.Status
			if size, status = messageSize(rest, p.link.cfg.MaxMessage); status != nil {
				return nil, status
			}
			if len(rest) >= prefixSize && len(rest) >= size {
				p.off += size
				return p.plain(ctx, rest[:size])
			}
		}
		if err := p.fill(size); err != nil {
			return nil, err
		}
		if p.taken != nil {
			continue
		}
		select {
		case <-p.readable:
		case <-ctx.Done():
			return nil, p.cause(ctx)
		}
	}
}

// cause returns why the wait for a message ends with ctx: the status of the pipe says more than ctx.
func (p *pipe) cause(ctx context.Context) *call.Status {
	h2 := p.link.h2
	h2.Lock()
	defer h2.Unlock()
	if p.broken != nil {
		return p.broken
	}
	return call.StatusOf(ctx.Err())
}

// plain returns the bytes of a whole message, decompressed.
func (p *pipe) plain(ctx context.Context, message []byte) ([]byte, error) {
	if message[0] == 0 {
		return message[prefixSize:], nil
	}
	if p.link.server {
		if status := p.reserve(ctx); status != nil {
			return nil, status
		}
	}
	b, status := expand(message[prefixSize:], p.encoding, p.link.cfg.MaxMessage)
	if p.link.server {
		p.link.h2.Lock()
		if status != nil {
			p.returnExpanded(0)
		} else {
			p.returnExpanded(len(b.B))
		}
		p.link.h2.Unlock()
	}
	if status != nil {
		return nil, status
	}
	p.expanded = b
	return b.B, nil
}

// reserve waits until the connection has room for the longest message that a compressed one may become. The wait is bounded: what other
// handlers hold may depend on this one.
func (p *pipe) reserve(ctx context.Context) *call.Status {
	cfg, account := p.link.cfg, &p.link.account
	var late <-chan time.Time
	p.link.h2.Lock()
	defer p.link.h2.Unlock()
	for !p.counts.closed && !account.Reserve(cfg.MaxMessage) {
		freed := account.Freed()
		p.link.h2.Unlock()
		if late == nil && cfg.RequestTimeout > 0 {
			timer := time.NewTimer(cfg.RequestTimeout)
			defer timer.Stop()
			late = timer.C
		}
		var status *call.Status
		select {
		case <-freed:
		case <-ctx.Done():
			status = call.StatusOf(ctx.Err())
		case <-late:
			status = statusf(call.ResourceExhausted, "grpc: decompressed requests of this connection have used max_held, %d bytes, for %v: make fewer calls at once", cfg.MaxHeld, cfg.RequestTimeout)
		}
		p.link.h2.Lock()
		if status != nil {
			return status
		}
	}
	if !p.counts.closed {
		p.counts.expanded = cfg.MaxMessage
	}
	return nil
}

// dropExpanded discards the last message, if it was compressed.
func (p *pipe) dropExpanded() {
	if p.expanded == nil {
		return
	}
	p.expanded.Release()
	p.expanded = nil
	if p.link.server {
		p.link.h2.Lock()
		p.returnExpanded(0)
		p.link.h2.Unlock()
	}
}

// fill takes what has arrived, if that is at least size bytes together with the rest of what was taken before. Otherwise p.taken is nil
// afterwards: the rest is put in front of what arrives, and p.readable gets a token when size bytes are complete, or at the end.
func (p *pipe) fill(size int) error {
	h2 := p.link.h2
	h2.Lock()
	defer h2.Unlock()
	rest := 0
	if p.taken != nil {
		if rest = len(p.taken.B) - p.off; rest > 0 {
			joined := bufpool.Get(rest + p.arrived())
			joined.B = append(joined.B, p.taken.B[p.off:]...)
			if p.in != nil {
				joined.B = append(joined.B, p.in.B...)
				p.in.Release()
			}
			p.in = joined
			p.hold(rest)
		}
		p.taken.Release()
		p.taken, p.off = nil, 0
		p.holdTaken(0)
	}
	switch n := p.arrived(); {
	case n >= size:
		p.taken, p.in = p.in, nil
		p.hold(-n)
		p.holdTaken(n)
		p.giveCredit()
	case p.inEnd && p.broken != nil:
		return p.broken
	case p.inEnd && n > 0:
		return statusf(call.Internal, "grpc: the messages end within a message")
	case p.inEnd:
		return io.EOF
	default:
		p.want = size
		p.giveCredit()
	}
	return nil
}

// canSend reports whether messages can be sent. It needs the lock.
func (p *pipe) canSend() bool { return p.stream != nil && p.broken == nil && !p.stream.Ended() }

// sending is h2conn.Outgoing.Stream.
func (p *pipe) sending() (s *http2.Stream, sendable bool) { return p.stream, p.broken == nil }

// outgoing is p for the connection.
func (p *pipe) outgoing() h2conn.Outgoing {
	return h2conn.Outgoing{Stream: p.sending, Writable: p.writable}
}

// awaitRoom waits until the stream's queue has room.
func (p *pipe) awaitRoom(until h2conn.Until) bool { return p.link.h2.AwaitRoom(p.outgoing(), until) }

// send writes a message, and the end of the stream if end is set. It needs the lock. A message larger than h2conn.Piece waits for room
// between its pieces. A message that cannot be completed resets the stream.
func (p *pipe) send(message []byte, compressed, end bool, until h2conn.Until) bool {
	n := min(len(message), h2conn.Piece-prefixSize)
	first := bufpool.Get(prefixSize + n)
	first.B = first.B[:prefixSize]
	grpcwire.PutPrefix(first.B, compressed, len(message))
	first.B = append(first.B, message[:n]...)
	message = message[n:]
	p.stream.Write(first.B, end && len(message) == 0)
	first.Release()
	if len(message) == 0 {
		return true
	}
	p.hold(len(message))
	defer p.hold(-len(message))
	return p.link.h2.WriteBody(p.outgoing(), message, end, until)
}
