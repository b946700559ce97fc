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

// Source publishes on one tag. Its methods may overlap.
type Source struct {
	client *Client
	tag    string
	lane   atomic.Pointer[lane] // nil while the tag has no number on a live connection

	mu      sync.Mutex
	ready   chan struct{} // closed and replaced when lane or refused changes
	refused error
	unsent  []native.Frame // of the last connection, to be sent first
}

// lane is the right to publish on a tag over one connection.
type lane struct {
	conn   *conn
	id     uint32
	out    *peer.FrameWriter
	credit int           // bytes; guarded by out's lock
	more   chan struct{} // closed when credit arrives; guarded by out's lock
}

// maxCredit bounds a tag's credit in bytes, whatever the node grants: an int may have 32 bits.
const maxCredit = 1 << 30

// quiet is how long the last write must have ended ago for Send to write by itself: less than that means a source that
// sends so fast that gathering pays.
const quiet = 3 * time.Microsecond

// Source returns the source for a tag, once the node has granted it; the same one for the same tag.
func (c *Client) Source(ctx context.Context, tag string) (*Source, error) {
	if err := topic.CheckTag(tag); err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	c.mu.Lock()
	s := c.sources[tag]
	if s == nil {
		s = &Source{client: c, tag: tag, ready: make(chan struct{})}
		c.sources[tag] = s
		if c.conn != nil {
			c.conn.askTag(s)
		}
	}
	c.mu.Unlock()
	if _, err := s.await(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Send publishes m; see ferry.Sender. It blocks while the node withholds the tag's credit and while there is no
// connection, until ctx ends. A nil error means the message is on its way: Flush tells when it has arrived.
func (c *Client) Send(ctx context.Context, m ferry.Message) error {
	c.mu.Lock()
	s := c.sources[m.Tag]
	c.mu.Unlock()
	if s == nil {
		var err error
		if s, err = c.Source(ctx, m.Tag); err != nil {
			return err
		}
	}
	return s.Send(ctx, m)
}

// Send is Client.Send for the source's own tag, whatever m.Tag says; it spares looking the tag up.
func (s *Source) Send(ctx context.Context, m ferry.Message) error {
	h := native.PubHeader{Type: m.Type, Time: m.Time}
	if m.To != 0 {
		h.Flags, h.Source = native.FlagAddressed, m.To
	}
	size := native.PubHeaderSize + len(m.Payload)
	for {
		l := s.lane.Load()
		if l == nil {
			var err error
			if l, err = s.await(ctx); err != nil {
				return err
			}
		}
		if size > l.conn.maxFrame {
			return fmt.Errorf("stream: message of %d bytes on tag %q: the node takes at most %d", len(m.Payload), s.tag, l.conn.maxFrame-native.PubHeaderSize)
		}
		l.out.Lock()
		var blocked <-chan struct{}
		switch {
		case l.out.Closed() || s.lane.Load() != l: // lost, or told to stop: the next connection
			l.out.Unlock()
			if err := s.lost(ctx, l); err != nil {
				return err
			}
			continue
		case l.credit <= 0:
			if l.more == nil {
				l.more = make(chan struct{})
			}
			blocked = l.more
		case l.out.Room() <= 0:
			blocked = l.out.WaitRoom()
		default:
			h.Tag = l.id
			if m.Time == 0 {
				h.Time = l.out.Now()
			}
			if m.To == 0 {
				h.Source = l.conn.id
			}
			l.out.SetTail(native.AppendPub(l.out.Tail(size), h, m.Payload))
			l.credit -= size
			l.out.UnlockFlush(quiet)
			return nil
		}
		l.out.Unlock()
		select {
		case <-blocked:
		case <-l.conn.peer.Context().Done():
		case <-ctx.Done():
			return fmt.Errorf("stream: tag %q has no credit: its consumers are behind: %w", s.tag, ctx.Err())
		case <-s.client.ctx.Done():
			return ErrClosed
		}
	}
}

// await returns the lane, once there is one.
func (s *Source) await(ctx context.Context) (*lane, error) {
	for {
		s.mu.Lock()
		l, ready, refused := s.lane.Load(), s.ready, s.refused
		s.mu.Unlock()
		if refused != nil {
			return nil, refused
		}
		if l != nil {
			return l, nil
		}
		if err := s.client.wait(ctx, ready); err != nil {
			return nil, err
		}
	}
}

// lost waits until l is no longer the lane.
func (s *Source) lost(ctx context.Context, l *lane) error {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	if s.lane.Load() != l {
		return nil
	}
	return s.client.wait(ctx, ready)
}

// grant opens a lane over cn, and first sends over it what the last connection left.
func (s *Source) grant(cn *conn, id uint32) {
	l := &lane{conn: cn, id: id, out: cn.writerFor(id), credit: cn.window}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.out.Lock()
	for _, f := range s.unsent {
		f.Renumber(id, cn.id)
		l.out.Append(f)
		l.credit -= len(f)
	}
	l.out.Unlock()
	s.unsent = nil
	s.lane.Store(l)
	s.wake()
}

// pause ends the lane over cn: Send waits for the next connection.
func (s *Source) pause(cn *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lane.Load(); l != nil && l.conn == cn {
		l.out.Lock() // no Send is half way
		s.lane.Store(nil)
		if l.more != nil {
			close(l.more)
			l.more = nil
		}
		l.out.Unlock()
		s.wake()
	}
}

// refuse tells whoever waits that the node does not grant the tag. The next Source or Send for it asks again.
func (s *Source) refuse(why error) {
	s.client.mu.Lock()
	delete(s.client.sources, s.tag)
	s.client.mu.Unlock()
	s.mu.Lock()
	s.refused = fmt.Errorf("stream: publish on %q: %w", s.tag, why)
	s.wake()
	s.mu.Unlock()
}

// keep takes a copy of a frame that was never sent. The tag's lane is closed with it.
func (s *Source) keep(f native.Frame) {
	s.mu.Lock()
	s.unsent = append(s.unsent, append(native.Frame(nil), f...))
	s.mu.Unlock()
}

func (s *Source) wake() {
	close(s.ready)
	s.ready = make(chan struct{})
}

// credit lets more be sent over cn.
func (s *Source) credit(cn *conn, n int) {
	l := s.lane.Load()
	if l == nil || l.conn != cn {
		return
	}
	l.out.Lock()
	l.credit = min(l.credit+n, maxCredit)
	if l.more != nil && l.credit > 0 {
		close(l.more)
		l.more = nil
	}
	l.out.Unlock()
}
