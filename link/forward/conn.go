package forward

import (
	"errors"
	"fmt"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

var errClosed = errors.New("forward: link closed")

// conn is one connection of a Link. The lock of the outbox guards the fields after heartbeat.
type conn struct {
	link      *Link
	peer      *peer.Conn
	source    uint32
	maxFrame  int
	window    int
	heartbeat time.Duration

	tags     map[string]*Tag // that are granted or requested, by name
	requests map[uint32]*Tag // by ref
	numbers  map[uint32]*Tag // that are granted
	lastRef  uint32
	warnings int          // lines in the log about tags that the other node does not take
	outs     []*outStream // by data stream; the control stream if there are none
	leaving  bool         // Leave was called for lack of tags
}

// outStream is a stream to the other node.
type outStream struct {
	writer *peer.FrameWriter
	paths  map[*native.Path]uint32 // numbers, by the path that a broker has given; nil is the path of this node alone
}

// handshake returns a connection over raw after the other node has accepted the link.
func (l *Link) handshake(raw transport.Conn, token []byte) (*conn, error) {
	c := &conn{link: l, tags: map[string]*Tag{}, requests: map[uint32]*Tag{}, numbers: map[uint32]*Tag{}}
	c.peer = peer.New(raw, peer.Config{Remote: "node", OnDrain: c.drain})
	w, err := c.peer.Connect(native.HelloFrame{Token: token, Name: l.cfg.Node})
	if err != nil {
		return nil, err
	}
	if w.Node == l.cfg.Node {
		return nil, fmt.Errorf("forward: the node there has the id of this one, %s: it is this node, or has a copy of its id", w.Node)
	}
	c.source, c.maxFrame, c.window = w.Source, int(w.MaxFrame), int(w.Window)
	c.heartbeat = time.Duration(w.Heartbeat) * time.Millisecond
	c.outs = make([]*outStream, max(1, c.peer.Streams()))
	l.Box.Lock()
	l.node = w.Node
	l.Box.Unlock()
	return c, nil
}

// out returns the stream that carries a tag number. The caller holds the lock.
func (c *conn) out(number uint32) *outStream {
	i := int(number % uint32(len(c.outs)))
	if c.outs[i] == nil {
		c.outs[i] = &outStream{writer: c.peer.Writer(i, nil), paths: map[*native.Path]uint32{}}
	}
	return c.outs[i]
}

// frameHandlers handles the frames of the other node that package peer does not handle itself. It sends no others to a publisher
// that accepts no calls.
var frameHandlers = peer.Table[receiver]{
	native.Credit: {Handle: func(r receiver, f native.Frame) error {
		v, err := native.ParseCredit(f)
		if err == nil && v.Sub == 0 {
			r.conn.addCredit(v)
		}
		return err
	}},
	native.Result: {Handle: func(r receiver, f native.Frame) error {
		v, err := native.ParseResult(f)
		if err == nil && v.Kind == native.Tag {
			r.conn.handleResult(v)
		}
		return err
	}},
	native.Notice: {Handle: func(r receiver, f native.Frame) error {
		v, err := native.ParseNotice(f)
		if err == nil {
			r.conn.handleNotice(v)
		}
		return err
	}},
}

// receiver handles the frames of one stream.
type receiver struct{ conn *conn }

func (receiver) BatchBegins()           {}
func (receiver) BatchEnds()             {}
func (receiver) BeforePong(uint64) bool { return true }

// Pubs refuses messages: a link subscribes to nothing.
func (receiver) Pubs(batch []byte, _ *bufpool.Buf) (int, error) {
	return 0, peer.Unexpected(native.Frame(batch), "for a link without subscriptions")
}

// maxCredit bounds the credit of a tag, in bytes, whatever the node grants, because an int may have 32 bits.
const maxCredit = 1 << 30

// maxWarnings bounds the lines in the log about the tags of one connection that the other node does not take.
const maxWarnings = 16

func (c *conn) addCredit(v native.CreditFrame) {
	l := c.link
	l.Box.Lock()
	defer l.Box.Unlock()
	t := c.numbers[v.Tag]
	if t == nil {
		return
	}
	blocked := t.credit <= 0
	t.credit = min(t.credit+int(min(v.Bytes, maxCredit)), maxCredit)
	if blocked {
		l.Box.Wake()
	}
}

func (c *conn) handleResult(v native.ResultFrame) {
	l := c.link
	l.Box.Lock()
	defer l.Box.Unlock()
	t := c.requests[v.Ref]
	if t == nil {
		return
	}
	delete(c.requests, v.Ref)
	l.Box.Wake()
	switch v.Code {
	case native.CodeOK:
		t.state, t.number, t.credit, t.out, t.refused = granted, v.Value, c.window, c.out(v.Value), nil
		c.numbers[v.Value] = t
		return
	case native.CodeForbidden, native.CodeBadRequest:
		t.state, t.retryAt = refused, time.Now().Add(refusedFor)
	default:
		t.state, t.retryAt = delayed, time.Now().Add(delayedFor)
		time.AfterFunc(delayedFor, func() { l.Box.Wake() })
		if v.Code != native.CodeLimit {
			break
		}
		if c.peer.Version() < native.ForwardVersion {
			if !c.leaving {
				c.leaving = true
				go l.Leave(c) // an earlier version takes no UNTAG: a new connection has no tags
			}
		} else {
			c.forget() // the other node has fewer places than the link uses
		}
	}
	why := &native.Error{Code: v.Code, Reason: v.Reason}
	if (t.refused == nil || t.refused.Error() != why.Error()) && c.warnings < maxWarnings {
		c.warnings++
		l.cfg.Log.Warn("forward: the other node does not take a tag", "tag", t.name, "err", why, "last_warning", c.warnings == maxWarnings)
	}
	t.refused = why
}

// handleNotice counts messages that the other node has dropped. It confirms them later, like all others.
func (c *conn) handleNotice(v native.NoticeFrame) {
	l := c.link
	l.Box.Lock()
	defer l.Box.Unlock()
	if v.Count == 0 {
		return
	}
	name := ""
	if t := c.numbers[v.Tag]; t != nil {
		name = t.name
	}
	if !l.dropsReported {
		l.dropsReported = true
		l.cfg.Log.Warn("forward: the other node drops messages", "tag", name, "count", v.Count, "err", &native.Error{Code: v.Code, Reason: v.Reason})
	}
	l.Box.Refuse(int(v.Count))
}
