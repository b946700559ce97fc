package web

import (
	"encoding/binary"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/internal/mediatype"
	"example.com/ferry/loop"
	"example.com/ferry/protocol/native"
	"example.com/ferry/protocol/websocket"
)

// leastDeflated is the length, in bytes, from which a message is worth the time of compressing it.
const leastDeflated = 256

// socket is a connection with a WebSocket.
type socket struct {
	sub     subscriber
	conn    *loop.Conn
	deflate bool
	left    bool
	silent  int // PINGs since the last frame has arrived

	grant   *broker.LocalTag // to publish; nil if the client only subscribes
	binary  ferry.Type       // of binary messages
	kind    websocket.Opcode
	packed  bool            // the message is compressed
	partial carry           // fragments of a message
	held    *broker.Message // a message that waits for credit
}

var (
	_ loop.Handler    = (*socket)(nil)
	_ loop.Shutdowner = (*socket)(nil)
)

// beginWebSocket handles the head of a GET with Upgrade: websocket. RFC 6455, section 4.2.
func (r *request) beginWebSocket(who *credential, name string, query url.Values) {
	shake := &r.fields.shake
	if refused := edge.CheckUpgrade(&r.head, shake); refused != nil {
		r.refuse(refused)
		return
	}
	k := &socket{conn: r.conn, deflate: websocket.Negotiate(string(shake.Extensions))}
	k.sub.raw, k.sub.flush, k.sub.ready, k.sub.finish = true, k.write, k.goOn, k.finish
	if err := k.open(r, who, name, query); err != nil {
		k.left = true // what was delivered meanwhile must not reach the connection
		r.fail(errorOf(err))
		return
	}
	r.ls.server.counters.requests[1].Add(1)
	extension := ""
	if k.deflate {
		extension = websocket.ResponseExtension
	}
	b := shake.AppendResponse(r.ls.scratch[:0], extension, "")
	k.conn.Write(b)
	r.ls.scratch = b[:0]
	k.conn.SetHandler(k)
	k.conn.SetTimer(idleTimer, r.ls.server.cfg.PingInterval)
	r.ls.server.counters.websockets.Add(1)
	r.release()
}

// open connects the client to the broker, as the query says. The error is a *native.Error.
func (k *socket) open(r *request, who *credential, name string, query url.Values) error {
	mode := query.Get("mode")
	publishes, subscribes := mode == "publish" || mode == "both", mode == "" || mode == "subscribe" || mode == "both"
	if !publishes && !subscribes {
		return &native.Error{Code: native.CodeBadRequest, Reason: "mode: want subscribe, publish or both"}
	}
	if t, known := mediatype.Type(query.Get("type")); known {
		k.binary = t
	}
	var cfg *broker.LocalSubConfig
	if subscribes {
		var err error
		if cfg, err = r.subscription(name, query); err != nil {
			return err
		}
	}
	if err := k.sub.attach(r, who, cfg); err != nil {
		return err
	}
	if publishes {
		grant, err := k.sub.local.Tag(strings.Clone(name))
		if err != nil {
			k.sub.ls.refused(k.sub.local, k.conn, err)
			k.sub.end()
			return err
		}
		k.grant = grant
	}
	return nil
}

// write writes what the broker has delivered.
func (k *socket) write() {
	if k.left {
		return
	}
	if queue := k.sub.take(); queue != nil {
		for p := queue.B; len(p) >= 4; {
			n := 4 + int(binary.BigEndian.Uint32(p))
			k.message(p[4:n])
			p = p[n:]
		}
		queue.Release()
	}
	if !k.conn.Full() {
		k.sub.resume()
	}
}

// message writes a text message.
func (k *socket) message(p []byte) {
	b := k.sub.ls.scratch[:0]
	if k.deflate && len(p) >= leastDeflated {
		b = websocket.AppendDeflated(b, websocket.Text, p)
	} else {
		b = websocket.AppendFrame(b, websocket.Text, p)
	}
	k.conn.Write(b)
	k.sub.ls.scratch = b[:0]
}

// finish ends the WebSocket because the broker does.
func (k *socket) finish(why error) {
	if k.left {
		return
	}
	k.write()
	status, _, reason := errorOf(why)
	code := websocket.Internal
	switch {
	case status == 503:
		code = websocket.GoingAway
	case status < 500:
		code = websocket.Policy
	}
	k.close(code, reason)
}

// close sends Close and ends the connection.
func (k *socket) close(code websocket.Code, reason string) {
	if k.left {
		return
	}
	k.conn.Write(websocket.AppendClose(nil, code, reason))
	k.leave()
	k.sub.ls.End(k.conn)
}

func (k *socket) leave() {
	k.left, k.held = true, nil
	k.partial.release()
	k.sub.end()
	k.sub.ls.server.counters.websockets.Add(-1)
}

// Opened does nothing: the connection is open.
func (k *socket) Opened(*loop.Conn) {}

// Data handles the frames that are whole.
func (k *socket) Data(c *loop.Conn, p []byte) (n int) {
	for !k.left {
		if k.held != nil || c.Full() { // without credit, or the client does not read the responses
			c.PauseReading()
			return n
		}
		size, f, err := websocket.Next(p[n:], k.sub.ls.server.cfg.MaxMessage)
		if err != nil {
			k.refuse(err)
			break
		}
		if size == 0 {
			return n
		}
		k.silent = 0
		n += size
		k.frame(&f)
	}
	return len(p)
}

// refuse closes the connection because of what the client has sent.
func (k *socket) refuse(err error) {
	var e *websocket.Error
	if errors.As(err, &e) {
		k.close(e.Code, e.Reason)
		return
	}
	k.close(websocket.Internal, err.Error())
}

func (k *socket) frame(f *websocket.Frame) {
	switch f.Opcode {
	case websocket.Ping:
		k.conn.Write(websocket.AppendFrame(nil, websocket.Pong, f.Payload))
	case websocket.Pong:
	case websocket.Close:
		code, err := websocket.CloseCode(f.Payload)
		if err != nil {
			k.refuse(err)
			return
		}
		k.close(code, "")
	default:
		k.fragment(f)
	}
}

// fragment puts a message together. RFC 6455, section 5.4.
func (k *socket) fragment(f *websocket.Frame) {
	first := f.Opcode != websocket.Continuation
	limit := k.sub.ls.server.cfg.MaxMessage
	switch {
	case first != (k.kind == 0):
		k.close(websocket.ProtocolError, "a message begins within another one, or a continuation without one")
		return
	case f.Compressed && !k.deflate:
		k.close(websocket.ProtocolError, "a compressed message without permessage-deflate")
		return
	case len(k.partial.bytes())+len(f.Payload) > limit:
		k.close(websocket.TooLarge, "the message is too long")
		return
	case first:
		k.kind, k.packed = f.Opcode, f.Compressed
	}
	content := f.Payload
	if !f.Final || !first {
		k.partial.append(content)
		content = k.partial.bytes()
	}
	if !f.Final {
		return
	}
	if k.packed {
		inflated, err := websocket.AppendInflated(nil, content, limit)
		if err != nil {
			k.refuse(err)
			return
		}
		content = inflated
	}
	kind := k.kind
	k.kind, k.packed = 0, false
	k.received(kind, content)
	k.partial.release()
}

// received publishes a message.
func (k *socket) received(kind websocket.Opcode, content []byte) {
	if k.grant == nil {
		k.close(websocket.Policy, "this WebSocket only subscribes: connect with mode=publish or mode=both")
		return
	}
	m := broker.Message{Type: k.binary, Payload: content}
	if kind == websocket.Text {
		if !utf8.Valid(content) {
			k.close(websocket.InvalidText, "a text message that is not UTF-8")
			return
		}
		m.Type = ferry.JSON
	}
	if !k.publish(&m) {
		m.Payload = append([]byte(nil), content...)
		k.held = &m
		k.conn.PauseReading()
	}
}

// publish publishes a message, or tells the client why it is refused. It returns false if there is no credit.
func (k *socket) publish(m *broker.Message) bool {
	batch := k.sub.ls.batch
	batch.Begin()
	n, err := batch.Publish(k.grant, []broker.Message{*m}, nil)
	batch.End()
	if err != nil {
		k.sub.ls.refused(k.sub.local, k.conn, err)
		_, code, reason := errorOf(err)
		k.message(edge.Problem(code, reason))
	}
	return n == 1 || err != nil
}

// goOn publishes the message that has waited for credit.
func (k *socket) goOn() {
	if k.held == nil || k.left || !k.publish(k.held) {
		return
	}
	k.held = nil
	if len(k.conn.Unread()) > 0 {
		k.conn.PauseReading()
	}
	k.conn.ResumeReading()
}

// Drained writes what has gathered, and reads again.
func (k *socket) Drained(c *loop.Conn) {
	k.write()
	if k.held == nil {
		c.ResumeReading()
	}
}

// HalfClosed ends the connection: the client has left without Close.
func (k *socket) HalfClosed(c *loop.Conn) {
	k.leave()
	k.sub.ls.End(c)
}

// maxSilent is how many PINGs may have no response.
const maxSilent = 3

// Timer sends PING, and ends the connection if the client has sent nothing since several of them, or does not read.
func (k *socket) Timer(c *loop.Conn, _ int) {
	if k.sub.stalled() || k.silent >= maxSilent {
		c.Abort(errStalled)
		return
	}
	if k.held == nil { // otherwise frames of the client wait unread
		k.silent++
	}
	c.Write(websocket.AppendFrame(nil, websocket.Ping, nil))
	c.SetTimer(idleTimer, k.sub.ls.server.cfg.PingInterval)
}

// Closed ends the client of the broker.
func (k *socket) Closed(c *loop.Conn, _ error) {
	k.sub.ls.Closed(c)
	if !k.left {
		k.leave()
	}
}

// Shutdown ends the WebSocket.
func (k *socket) Shutdown(*loop.Conn) { k.close(websocket.GoingAway, "the node is stopping") }
