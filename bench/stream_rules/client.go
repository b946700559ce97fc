package main

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// client is a client of a node that writes and reads frames itself, so that its own work is little.
type client struct {
	conn     net.Conn
	in       []byte
	rest     []byte // of in, not read yet
	source   ferry.SourceID
	window   int
	tag      uint32
	credit   int
	lastSub  uint32
	received atomic.Int64
}

func dial(addr, token string) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, in: make([]byte, 64<<10)}
	_ = conn.SetDeadline(time.Now().Add(2 * patience))
	if err := c.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1, Token: []byte(token), Name: "bench"})); err != nil {
		return nil, err
	}
	f, err := c.next()
	if err != nil {
		return nil, err
	}
	w, err := native.ParseWelcome(f)
	c.source, c.window = ferry.SourceID(w.Source), int(w.Window)
	return c, err
}

func (c *client) close() { _ = c.conn.Close() }

func (c *client) write(b []byte) error {
	_, err := c.conn.Write(b)
	return err
}

// next returns the next frame, which is valid until the next call.
func (c *client) next() (native.Frame, error) {
	for {
		f, err := native.Split(c.rest, native.DefaultMaxFrame)
		if err != nil || f != nil {
			c.rest = c.rest[len(f):]
			if err == nil && f.Kind() == native.Goaway {
				err = fmt.Errorf("stream_rules: the node ends the connection: %q", f)
			}
			return f, err
		}
		kept := copy(c.in, c.rest)
		if kept == len(c.in) {
			c.in = append(c.in, make([]byte, len(c.in))...)
		}
		n, err := c.conn.Read(c.in[kept:])
		if err != nil {
			return nil, err
		}
		c.rest = c.in[:kept+n]
	}
}

// settle waits until the node has handled what was sent. A refused request is an error.
func (c *client) settle() error {
	if err := c.write(native.AppendPing(nil, false, 77)); err != nil {
		return err
	}
	for {
		f, err := c.next()
		if err != nil {
			return err
		}
		switch f.Kind() {
		case native.Ping:
			return nil
		case native.Result:
			v, err := native.ParseResult(f)
			if err != nil {
				return err
			}
			if v.Code != 0 {
				return fmt.Errorf("stream_rules: the node refuses: %v %s", v.Code, v.Reason)
			}
			c.tag = v.Value
		case native.Credit:
			v, err := native.ParseCredit(f)
			if err != nil {
				return err
			}
			c.credit += int(v.Bytes)
		}
	}
}

// filter matches the tag, as that of a subscriber to several lines would.
const (
	filter  = "events/+"
	tagName = "events/a"
)

func (c *client) appendSub(b []byte, where string) []byte {
	c.lastSub++
	return native.AppendSub(b, native.SubFrame{ID: c.lastSub, Window: 1 << 30, Filter: filter, Where: where})
}

func (c *client) subscribe(rules []rule) error {
	var b []byte
	for _, r := range rules {
		b = c.appendSub(b, r.usual())
	}
	if err := c.write(b); err != nil {
		return err
	}
	return c.settle()
}

// change subscribes and unsubscribes, beside the rules of s. It returns the time until the node has handled all of it.
func (c *client) change(s setup) (time.Duration, error) {
	var b []byte
	for i := range changed {
		r := append(rule{text("device", "==", fmt.Sprintf("other-%d", i))}, s.rule(i)...)
		b = native.AppendUnsub(c.appendSub(b, r.usual()), c.lastSub)
	}
	start := time.Now()
	sent := make(chan error, 1)
	go func() { sent <- c.write(b) }()
	for results := 0; results < changed; {
		f, err := c.next()
		if err != nil {
			return 0, err
		}
		if f.Kind() == native.Result {
			results++
		}
	}
	if err := <-sent; err != nil {
		return 0, err
	}
	err := c.settle()
	return time.Since(start), err
}

// count counts the messages that arrive, until the connection ends.
func (c *client) count() {
	for {
		f, err := c.next()
		if err != nil {
			return
		}
		if f.Kind() == native.Pub {
			c.received.Add(1)
		}
	}
}

// openTag requests the right to publish.
func (c *client) openTag() error {
	if err := c.write(native.AppendTag(nil, native.TagFrame{Ref: 1, Name: tagName})); err != nil {
		return err
	}
	if err := c.settle(); err != nil {
		return err
	}
	tag := c.tag
	c.credit += c.window
	c.tag = tag
	return nil
}

// publish sends n messages in turn, as fast as the node gives credit, and waits until the node has routed them.
func (c *client) publish(docs [][]byte, n int) error {
	const batch = 32 << 10
	var b []byte
	for i := range n {
		b = native.AppendPub(b, native.PubHeader{Type: ferry.CBOR, Tag: c.tag, Source: c.source, Time: time.Now().UnixNano()}, docs[i&(len(docs)-1)])
		if len(b) < batch && i < n-1 {
			continue
		}
		for c.credit < len(b) {
			f, err := c.next()
			if err != nil {
				return err
			}
			if f.Kind() == native.Credit {
				v, err := native.ParseCredit(f)
				if err != nil {
					return err
				}
				c.credit += int(v.Bytes)
			}
		}
		c.credit -= len(b)
		if err := c.write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	return c.settle()
}
