package stream

import (
	"context"
	"fmt"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// Batch gathers messages of a Source and sends them together, for publishers that have many short messages at a time: it takes the
// locks once for all of them, and they leave in one write. Only one goroutine may use a Batch at a time; a Source may have any number.
//
// Send sends what was added, and so does Add when 64 KiB have gathered. The messages of a Batch keep their order. They follow those that
// Source.Send has sent before the Batch sends them.
//
// Messages that are not sent exist in the Batch only. Client.Flush does not wait for them, Client.Stats does not count them, and after
// Client.Close they are lost. So call Send before Flush and Close.
type Batch struct {
	source   *Source
	grant    *publishGrant // whose numbers the frames have
	frames   *bufpool.Buf  // frames of messages that are not sent; nil if there are none
	sent     int           // bytes of frames that are sent
	timeless bool          // frames has messages without a time
}

// batchSize is the number of bytes of frames that a Batch gathers.
const batchSize = 64 << 10

// Batch returns an empty Batch. It needs no Close.
func (s *Source) Batch() *Batch { return &Batch{source: s} }

// Add copies m and sends it later. It ignores m.Tag. A message without a Time gets that of the Send. Add blocks while there is no
// connection. If m does not fit in 64 KiB together with what was added, Add first sends that, and blocks as Source.Send does. After an
// error m is not in the Batch. With Config.Spool, Add is Source.Send, unless m has To.
func (b *Batch) Add(ctx context.Context, m ferry.Message) error {
	s := b.source
	if s.client.spooler != nil && m.To == 0 {
		return s.Send(ctx, m)
	}
	extended, err := s.isExtended(&m, descent{})
	if err != nil {
		return err
	}
	if b.grant == nil || s.grant.Load() != b.grant {
		if err := b.renew(ctx); err != nil {
			return err
		}
	}
	g := b.grant
	size := g.frameSize(&m, extended, descent{})
	if size > g.conn.maxFrame {
		return fmt.Errorf("%w on tag %q", tooLong(g.conn, size), s.tag)
	}
	if b.frames != nil && len(b.frames.B)+size > cap(b.frames.B) {
		if err := b.Send(ctx); err != nil {
			return err
		}
		g = b.grant
	}
	if b.frames == nil {
		b.frames = bufpool.Get(max(batchSize, size))
	}
	b.timeless = b.timeless || m.Time == 0
	b.frames.B = g.appendFrame(b.frames.B, &m, extended, m.Time, descent{})
	return nil
}

// setTimes sets the time of the waiting frames that have none.
func (b *Batch) setTimes() {
	if !b.timeless {
		return
	}
	b.timeless = false
	now := time.Now().UnixNano()
	for rest := b.waiting(); len(rest) > 0; rest = rest[native.Size(rest):] {
		if f := native.Frame(rest); f.Time() == 0 {
			f.SetTime(now)
		}
	}
}

// renew gives the waiting frames the numbers of the current grant.
func (b *Batch) renew(ctx context.Context) error {
	g, err := b.source.granted(ctx)
	if err != nil {
		return err
	}
	b.grant = g
	for rest := b.waiting(); len(rest) > 0; rest = rest[native.Size(rest):] {
		native.Frame(rest[:native.Size(rest)]).Renumber(g.id, g.conn.id)
	}
	return nil
}

// waiting returns the frames that are not sent.
func (b *Batch) waiting() []byte {
	if b.frames == nil {
		return nil
	}
	return b.frames.B[b.sent:]
}

// Send sends what was added. It blocks as Source.Send does. A nil error means that all messages will be sent. Call Client.Flush to wait
// until they have arrived.
//
// After an error the messages that are not sent stay in the Batch, and the next Send sends them. There are two exceptions. With
// ferry.ErrTooLarge the first of them is removed: it is longer than the node of a new connection takes. And if the node refuses the
// tag on a new connection, each later call returns that error.
func (b *Batch) Send(ctx context.Context) error {
	s := b.source
	b.setTimes()
	for len(b.waiting()) > 0 {
		if s.grant.Load() != b.grant {
			if err := b.renew(ctx); err != nil {
				return err
			}
		}
		if err := b.removeTooLong(); err != nil {
			return err
		}
		ok, err := s.lock(ctx, b.grant, nil)
		if err != nil {
			return err
		}
		if ok {
			b.append()
		}
	}
	return nil
}

// removeTooLong removes the first frame, and returns an error, if the frame is longer than the connection takes. Add has checked that
// for an earlier connection.
func (b *Batch) removeTooLong() error {
	g, first := b.grant, native.Size(b.waiting())
	if first <= g.conn.maxFrame {
		return nil
	}
	b.advance(first)
	return fmt.Errorf("%w on tag %q", tooLong(g.conn, first), b.source.tag)
}

// append appends what has credit to the next write. The caller holds the lock of the writer, and there is credit. append releases the
// lock.
func (b *Batch) append() {
	g, s := b.grant, b.source
	frames := b.waiting()
	n := len(frames)
	if n > g.credit || n > g.conn.maxFrame {
		for n = 0; n < len(frames) && n < g.credit && native.Size(frames[n:]) <= g.conn.maxFrame; {
			n += native.Size(frames[n:])
		}
	}
	if n == len(frames) {
		g.writer.Share(b.frames, frames)
	} else {
		g.writer.Append(frames[:n])
	}
	g.credit -= n
	if g.stored && s.client.spooler == nil {
		for rest := frames[:n]; len(rest) > 0; rest = rest[native.Size(rest):] {
			s.unstored.add(rest[:native.Size(rest)], nil)
		}
	}
	g.writer.UnlockFlush(0)
	b.advance(n)
}

// advance removes n bytes of frames.
func (b *Batch) advance(n int) {
	if b.sent += n; b.sent == len(b.frames.B) {
		b.frames.Release()
		b.frames, b.sent = nil, 0
	}
}
