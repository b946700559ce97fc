package stream

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// Source publishes on one tag. All methods may overlap.
type Source struct {
	client *Client
	tag    string
	grant  atomic.Pointer[publishGrant] // current grant; nil if there is none
	stored atomic.Bool                  // the node's last grant was for a tag that it stores

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when grant or refused changes
	refused  error
	unstored unstored
}

// publishGrant is the node's permission to publish on a tag over one connection, and the credit for that tag.
type publishGrant struct {
	conn   *conn
	id     uint32 // tag number
	stored bool   // CREDIT means that messages are stored
	writer *peer.FrameWriter

	// Guarded by writer's lock.
	credit      int           // bytes
	creditAdded chan struct{} // closed when credit arrives; nil if no Send waits
}

// maxCredit bounds the credit of a tag, in bytes, whatever the node grants, because an int may have 32 bits.
const maxCredit = 1 << 30

// quietFor is the shortest pause since the last write after which Send writes directly. After a shorter pause,
// gathering several messages for one write is cheaper.
const quietFor = 3 * time.Microsecond

// Source returns the source of a tag, once the node has granted the tag, or at once if there is a Config.Spool. Calls with the same
// tag return the same source.
func (c *Client) Source(ctx context.Context, tag string) (*Source, error) {
	if err := topic.CheckTag(tag); err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	s := c.lookUp(tag)
	if c.spooler != nil {
		return s, nil
	}
	if _, err := s.awaitGrant(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// lookUp returns the source of a tag, which the node may not have granted yet.
func (c *Client) lookUp(tag string) *Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sources[tag]
	if s == nil {
		s = &Source{client: c, tag: tag, changed: make(chan struct{})}
		c.sources[tag] = s
		if c.conn != nil {
			c.conn.requestTag(s)
		}
	}
	return s
}

// Send publishes m; see ferry.Sender. It blocks while the node withholds credit for the tag and while there is no
// connection, until ctx ends. A nil error means that the message will be sent. Call Flush to wait until it has arrived.
//
// If the node stores the tag at least once, the Client keeps a copy of the message until it is stored, and sends it again when the
// connection was lost. It may then be stored twice, unless it has an ID. The credit of the tag bounds the copies.
func (c *Client) Send(ctx context.Context, m ferry.Message) error {
	return c.send(ctx, m, descent{})
}

func (c *Client) send(ctx context.Context, m ferry.Message, from descent) error {
	if c.spooler != nil && m.To == 0 {
		_, err := c.spooler.store(ctx, &m)
		return err
	}
	s, err := c.sourceOf(ctx, m.Tag)
	if err != nil {
		return err
	}
	_, err = s.send(ctx, &m, sending{from: from})
	return err
}

// sourceOf is Source without a check of the tag, if the source exists.
func (c *Client) sourceOf(ctx context.Context, tag string) (*Source, error) {
	c.mu.Lock()
	s := c.sources[tag]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return c.Source(ctx, tag)
}

// Send is Client.Send for the source's own tag. It ignores m.Tag and needs no look-up of the tag.
func (s *Source) Send(ctx context.Context, m ferry.Message) error {
	if s.client.spooler != nil && m.To == 0 {
		m.Tag = s.tag
		_, err := s.client.spooler.store(ctx, &m)
		return err
	}
	_, err := s.send(ctx, &m, sending{})
	return err
}

// sending is what the caller of send wants besides.
type sending struct {
	told      settler // is told what has become of the message, if the tag is stored and messages are kept; may be nil
	mustStore bool    // the error for a tag that is not stored is ErrNotStored
	over      *conn   // if not nil: send over this connection, or return errConnectionLost
	from      descent
}

// send publishes m. kept reports whether the client keeps a copy until the message is stored: it does for a tag that is stored, unless
// there is a spool.
func (s *Source) send(ctx context.Context, m *ferry.Message, how sending) (kept bool, err error) {
	extended, err := s.isExtended(m, how.from)
	if err != nil {
		return false, err
	}
	for {
		g, err := s.granted(ctx)
		if err != nil {
			return false, err
		}
		size := g.frameSize(m, extended, how.from)
		switch {
		case how.over != nil && g.conn != how.over:
			return false, errConnectionLost
		case size > g.conn.maxFrame:
			return false, fmt.Errorf("%w on tag %q", tooLong(g.conn, size), s.tag)
		case how.mustStore && !g.stored:
			return false, fmt.Errorf("%w: %q", ErrNotStored, s.tag)
		}
		ok, err := s.lock(ctx, g, how.over)
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		now := m.Time
		if now == 0 {
			now = g.writer.Now()
		}
		tail := g.appendFrame(g.writer.Tail(size), m, extended, now, how.from)
		g.writer.SetTail(tail)
		g.credit -= size
		kept = g.stored && s.client.spooler == nil
		if kept {
			s.unstored.add(tail[len(tail)-size:], how.told)
		}
		g.writer.UnlockFlush(quietFor)
		return kept, nil
	}
}

// isExtended reports whether m needs an extension: a handler publishes it, or it has a key or an id. The error refuses those.
func (s *Source) isExtended(m *ferry.Message, from descent) (bool, error) {
	if len(m.Key)+len(m.ID) == 0 {
		return from.handled, nil
	}
	return true, checkKey(s.tag, m)
}

// extends reports whether frames on the connection may have an extension.
func (g *publishGrant) extends() bool { return g.conn.peer.Version() >= native.StoredVersion }

// frameSize returns the size of the frame of m, in bytes.
func (g *publishGrant) frameSize(m *ferry.Message, extended bool, from descent) int {
	size := native.PubHeaderSize + len(m.Payload)
	if extended && g.extends() {
		size += extensionSize(m, from)
	}
	return size
}

// appendFrame appends the frame of m.
func (g *publishGrant) appendFrame(dst []byte, m *ferry.Message, extended bool, now int64, from descent) []byte {
	h := native.PubHeader{Type: m.Type, Tag: g.id, Source: g.conn.id, Time: now}
	if m.To != 0 {
		h.Flags, h.Source = native.FlagAddressed, m.To
	}
	if extended && g.extends() {
		return appendExtended(dst, h, m, from)
	}
	return native.AppendPub(dst, h, m.Payload)
}

// granted returns the current grant, or waits for one.
func (s *Source) granted(ctx context.Context) (*publishGrant, error) {
	if g := s.grant.Load(); g != nil {
		return g, nil
	}
	return s.awaitGrant(ctx)
}

// lock waits until the tag has credit and its stream has room, and acquires the lock of the stream. ok is false if the connection of g is
// lost or draining: the caller goes on with the next grant. If over is set, the error is then errConnectionLost, at the latest in the
// next call.
func (s *Source) lock(ctx context.Context, g *publishGrant, over *conn) (ok bool, err error) {
	for {
		g.writer.Lock()
		var blocked <-chan struct{}
		switch {
		case g.writer.Closed() || s.grant.Load() != g:
			g.writer.Unlock()
			if over != nil {
				return false, errConnectionLost
			}
			return false, s.awaitLoss(ctx, g)
		case g.credit <= 0:
			if g.creditAdded == nil {
				g.creditAdded = make(chan struct{})
			}
			blocked = g.creditAdded
		case g.writer.Room() <= 0:
			blocked = g.writer.WaitRoom()
		default:
			return true, nil
		}
		g.writer.Unlock()
		select {
		case <-blocked:
		case <-g.conn.peer.Context().Done():
			return false, nil
		case <-ctx.Done():
			return false, fmt.Errorf("stream: tag %q has no credit: %s: %w", s.tag, s.whyBehind(g), ctx.Err())
		case <-s.client.ctx.Done():
			return false, ErrClosed
		}
	}
}

// awaitGrant waits for a grant and returns it. If the node refuses the tag, it returns that error.
func (s *Source) awaitGrant(ctx context.Context) (*publishGrant, error) {
	for {
		s.mu.Lock()
		g, changed, refused := s.grant.Load(), s.changed, s.refused
		s.mu.Unlock()
		if refused != nil {
			return nil, refused
		}
		if g != nil {
			return g, nil
		}
		if err := s.client.wait(ctx, changed); err != nil {
			return nil, err
		}
	}
}

// awaitLoss waits until g is no longer the grant of the source.
func (s *Source) awaitLoss(ctx context.Context, g *publishGrant) error {
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	if s.grant.Load() != g {
		return nil
	}
	return s.client.wait(ctx, changed)
}

// resume uses a new grant: cn with tag number id. First it sends the messages that the last connection did not send, or whose
// storage it did not confirm. If cn is draining or closing, the next connection sends them and gets a grant.
func (s *Source) resume(cn *conn, id uint32, stored bool) {
	g := &publishGrant{conn: cn, id: id, stored: stored, writer: cn.writerFor(id), credit: cn.window}
	settled, ok := s.use(g)
	if ok {
		s.tell(settled)
	}
}

func (s *Source) use(g *publishGrant) (settled settlement, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.conn.isDraining() {
		return settled, false
	}
	g.writer.Lock()
	if g.writer.Closed() {
		g.writer.Unlock()
		return settled, false
	}
	settled = s.unstored.resend(g)
	g.writer.Unlock()
	s.grant.Store(g)
	s.stored.Store(g.stored)
	s.notify()
	return settled, true
}

// pause removes the grant of cn, so that Send waits for the next connection.
func (s *Source) pause(cn *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.grant.Load(); g != nil && g.conn == cn {
		g.writer.Lock() // wait until no Send uses g
		s.grant.Store(nil)
		if g.creditAdded != nil {
			close(g.creditAdded)
			g.creditAdded = nil
		}
		g.writer.Unlock()
		s.notify()
	}
}

// refuse ends the source because the node does not grant its tag. The next call of Source or Send for that tag asks the
// node again.
func (s *Source) refuse(why error) {
	s.client.mu.Lock()
	delete(s.client.sources, s.tag)
	s.client.mu.Unlock()
	s.mu.Lock()
	s.refused = fmt.Errorf("stream: publish on %q: %w", s.tag, why)
	s.notify()
	s.mu.Unlock()
	s.tell(s.unstored.discard(why))
}

// notify wakes the goroutines that wait for changed; s.mu is held.
func (s *Source) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// addCredit adds n bytes of credit to the grant of cn, and settles what they confirm.
func (s *Source) addCredit(cn *conn, n int) {
	settled := s.unstored.credit(cn, n) // also after pause, so that what is stored is not sent again
	var resent settlement
	if g := s.grant.Load(); g != nil && g.conn == cn {
		g.writer.Lock()
		if s.grant.Load() == g {
			g.credit = min(g.credit+n, maxCredit)
			resent = s.unstored.resend(g)
		}
		if g.creditAdded != nil && g.credit > 0 {
			close(g.creditAdded)
			g.creditAdded = nil
		}
		g.writer.Unlock()
	}
	s.tell(settled)
	s.tell(resent)
}
