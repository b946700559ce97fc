package edge

import (
	"errors"
	"math"
	"strings"

	"example.com/ferry/loop"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/protocol/websocket"
)

// webSocket is a layer of a connection that passes on what the binary messages of a WebSocket contain, as a stream of bytes: where a message or a frame begins
// makes no difference. No bytes of a frame are kept. RFC 6455; MQTT 5.0, section 6.
//
//	securing ──TLS handshake──► awaiting ──request, 101──► open ──Close of the client, or its fault──► ended
//	                                └────request, refused────► refused
type webSocket struct {
	on     *Loop
	of     *Listener
	conn   *loop.Conn
	below  *secureLayer // nil without TLS
	socket *loop.Socket

	state  webSocketState
	why    *websocket.Error // why the client sends no more; nil without a Close frame and a fault
	closed bool             // a Close frame was sent: no frame follows it
	told   bool             // the handler knows that the client sends no more
	within bool             // a message is not complete
	got    uint8            // bytes in header, of a header that is not whole
	early  []byte           // the request while it is not whole, and then what came with it
	head   *http1.Head      // of the request; nil before its first byte, and once it is open

	header  [websocket.MaxHeader]byte
	frame   websocket.Header // that is not whole: Size is what is left of it
	control []byte           // payload of a control frame that is not whole
}

var _ loop.Buffered = (*webSocket)(nil)

type webSocketState uint8

const (
	securing webSocketState = iota // the TLS handshake is not complete
	awaiting                       // the request has not come
	refused                        // the request was; what follows it is discarded
	open
	ended // what the client sends is discarded
)

func (s webSocketState) over() bool { return s == refused || s == ended }

// Start is called when the connection is accepted.
func (w *webSocket) Start(s *loop.Socket) {
	w.socket = s
	if w.below != nil {
		w.below.Start(s)
	}
}

// Handshake reads the client's request, after the TLS handshake, and responds.
func (w *webSocket) Handshake() error {
	if w.below != nil && w.state == securing {
		if err := w.below.Handshake(); err != nil {
			return err
		}
	}
	w.state = awaiting
	for {
		n, err := w.receive(w.on.room())
		if err != nil {
			return err
		}
		if w.head == nil {
			w.head = &http1.Head{}
		}
		w.early = append(w.early, w.on.room()[:n]...)
		if n, err = http1.ParseRequest(w.early, w.head, HeadLimits); err != nil || n > 0 {
			return w.respond(n, err)
		}
		w.on.Hold(w.conn, len(w.early)) // may close it
	}
}

// respond responds to a request, whose head has n bytes, or to one that is malformed. After a refusal, the connection ends as after a WebSocket: at once, it
// would be reset, and the client might lose the response.
func (w *webSocket) respond(n int, err error) error {
	var shake websocket.Handshake
	head := w.head
	if err != nil {
		w.of.Unreadable(w.conn, w.early)
	}
	why := w.check(n, &shake, err)
	if why == nil {
		w.early, w.head, w.state = w.early[n:], nil, open
		return w.emit(shake.AppendResponse(nil, "", w.of.service.Subprotocol))
	}
	w.early, w.head, w.state = nil, nil, refused
	b := append(AppendStatus(nil, why.Status), "Connection: close\r\n"+why.Fields...)
	return w.emit(AppendBody(b, "application/json", Problem(why.Code, why.Reason), head.Method != http1.MethodHead))
}

// check returns why a request gets no WebSocket, or nil.
func (w *webSocket) check(n int, shake *websocket.Handshake, err error) *Refusal {
	if err != nil {
		return Malformed(err)
	}
	head, data, subprotocol := w.head, w.early[:n], w.of.service.Subprotocol
	for _, f := range head.Fields {
		shake.Field(f.Name.Of(data), f.Value.Of(data))
	}
	if refused := w.of.CheckOrigin(head.Get(data, "Origin"), head.Authority.Of(data)); refused != nil {
		return refused
	}
	if head.Method != http1.MethodGet || !head.Upgrade || !strings.EqualFold(string(head.UpgradeTo(data)), "websocket") {
		return upgradeRequired("clients connect to this address by WebSocket, with the subprotocol " + subprotocol)
	}
	if refused := CheckUpgrade(head, shake); refused != nil {
		return refused
	}
	if !shake.Speaks(subprotocol) {
		return &Refusal{Status: 400, Code: "subprotocol", Reason: "the WebSocket needs the subprotocol " + subprotocol}
	}
	return nil
}

// Malformed returns the response to a request that cannot be parsed, because of err.
func Malformed(err error) *Refusal {
	status := 400
	var e *http1.Error
	if errors.As(err, &e) {
		status = e.Status
	}
	return &Refusal{Status: status, Code: "bad_request", Reason: err.Error()}
}

func upgradeRequired(reason string) *Refusal {
	return &Refusal{Status: 426, Code: "upgrade", Reason: reason, Fields: "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"}
}

// CheckUpgrade returns why a GET with Upgrade: websocket is refused, or nil. RFC 6455, section 4.2.
func CheckUpgrade(head *http1.Head, shake *websocket.Handshake) *Refusal {
	status, reason := shake.Check()
	body := head.Body(nil)
	switch {
	case status == 426:
		return upgradeRequired(reason)
	case status == 0 && body.Done():
		return nil
	case status == 0:
		reason = "a request for a WebSocket has no body"
	}
	return &Refusal{Status: 400, Code: "bad_request", Reason: reason}
}

// receive reads what is below the WebSocket.
func (w *webSocket) receive(p []byte) (int, error) {
	if w.below != nil {
		return w.below.Read(p)
	}
	return w.socket.Read(p)
}

// emit writes what is below the WebSocket.
func (w *webSocket) emit(p []byte) error {
	if w.below != nil {
		_, err := w.below.Write(p) // all, or an error
		return err
	}
	w.socket.Write(p)
	return nil
}

// Read returns what messages contain. Once the client sends no more of them, Read tells the handler, and discards what comes until the client ends the
// connection.
func (w *webSocket) Read(p []byte) (int, error) {
	for {
		if w.state.over() && !w.told {
			w.told = true
			w.conn.Handler().HalfClosed(w.conn)
		}
		n := copy(p, w.early)
		if w.early = w.early[n:]; len(w.early) == 0 {
			w.early = nil
		}
		if n == 0 {
			var err error
			if n, err = w.receive(p); err != nil {
				return 0, err
			}
		}
		if w.state.over() {
			continue
		}
		n, err := w.unframe(p[:n])
		if err != nil {
			w.end(err)
		}
		if n > 0 {
			return n, nil
		}
	}
}

// end ends the client's side because of what it has sent. CloseWrite tells it why, behind what is written until then.
func (w *webSocket) end(err error) {
	w.state, w.early = ended, nil
	if !errors.As(err, &w.why) { // the socket tells of its error
		w.why = nil
	}
}

// unframe moves what messages contain to the start of p, and returns how much that is.
func (w *webSocket) unframe(p []byte) (n int, err error) {
	in := p
	for len(in) > 0 {
		if w.frame.Size == 0 {
			took := copy(w.header[w.got:], in)
			size, h, err := websocket.ParseHeader(w.header[:int(w.got)+took], math.MaxInt64)
			if err != nil {
				return n, err
			}
			if size == 0 {
				w.got += uint8(took)
				return n, nil
			}
			in, w.got = in[size-int(w.got):], 0
			if err := w.begin(h); err != nil {
				return n, err
			}
			if h.Size > 0 {
				continue
			}
		}
		part := in[:min(w.frame.Size, uint64(len(in)))]
		in = in[len(part):]
		w.frame.Unmask(part)
		if w.frame.Opcode < websocket.Close {
			n += copy(p[n:], part)
			continue
		}
		if w.control = append(w.control, part...); w.frame.Size == 0 {
			if err := w.controlled(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// begin checks the header of a frame. RFC 6455, section 5.4; MQTT 5.0, section 6.0.
func (w *webSocket) begin(h websocket.Header) error {
	w.frame = h
	switch {
	case h.Opcode >= websocket.Close:
		return nil
	case h.Opcode == websocket.Text:
		return &websocket.Error{Code: websocket.Unsupported, Reason: "a text message: the subprotocol has binary messages only"}
	case h.Compressed:
		return &websocket.Error{Code: websocket.ProtocolError, Reason: "a compressed message without permessage-deflate"}
	case (h.Opcode == websocket.Continuation) != w.within:
		return &websocket.Error{Code: websocket.ProtocolError, Reason: "a message begins within another one, or a continuation without one"}
	}
	w.within = !h.Final
	return nil
}

// controlled handles a control frame that is whole. RFC 6455, section 5.5.
func (w *webSocket) controlled() error {
	payload := w.control
	w.control = nil
	switch w.frame.Opcode {
	case websocket.Ping:
		if w.closed {
			return nil
		}
		return w.emit(websocket.AppendFrame(nil, websocket.Pong, payload))
	case websocket.Close:
		code, err := websocket.CloseCode(payload)
		if err == nil {
			err = &websocket.Error{Code: code}
		}
		return err
	}
	return nil
}

// Buffered reports whether Read may return something without the socket.
func (w *webSocket) Buffered() bool {
	return w.state.over() && !w.told || len(w.early) > 0 || w.below != nil && w.below.Buffered()
}

// maxMessage bounds the messages that are written, in bytes: many clients may receive one long packet, which would be copied as a whole for each of them.
const maxMessage = 32 << 10

// Write sends what p begins with as one message.
func (w *webSocket) Write(p []byte) (int, error) {
	p = p[:min(len(p), maxMessage)]
	b := append(websocket.AppendHeader(w.on.scratch[:0], websocket.Binary, len(p)), p...)
	w.on.scratch = b[:0]
	if err := w.emit(b); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite sends a Close frame, with the code of the client if it has sent one, and then what is below ends. It is called once.
func (w *webSocket) CloseWrite() error {
	why := websocket.Error{Code: websocket.Normal}
	switch {
	case w.why != nil:
		why = *w.why
	case w.of.closed.Load():
		why.Code = websocket.GoingAway
	}
	if w.state >= open {
		w.closed = true
		if err := w.emit(websocket.AppendClose(nil, why.Code, why.Reason)); err != nil {
			return err
		}
	}
	if w.below != nil {
		return w.below.CloseWrite()
	}
	return nil
}

// Close releases what is below.
func (w *webSocket) Close() {
	w.early, w.control, w.state = nil, nil, ended
	if w.below != nil {
		w.below.Close()
	}
}
