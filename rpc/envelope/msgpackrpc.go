package envelope

import (
	"bytes"
	"strconv"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/rpc/call"
)

// MsgpackRPC is MessagePack-RPC as go-micro writes it: lists of [0, id, method, [value]] for a request, [1, id, error, result] for a
// response and [2, method, [value]] for a notification. The id is a text with a number; the specification's ids, which are numbers, are read
// and repeated. The error begins with the code's name, such as "NOT_FOUND: no user 5".
type MsgpackRPC struct{}

var _ Envelope = MsgpackRPC{}

// Bytes of MessagePack.
const (
	msgpackNil    = 0xc0
	msgpackArray0 = 0x90
	msgpackText0  = 0xa0
)

// MsgpackData is the type of a Status's detail that is an error other than a text, in MessagePack.
const MsgpackData = "application/msgpack"

// Name returns msgpackrpc.
func (MsgpackRPC) Name() string { return "msgpackrpc" }

// AppendRequest appends a request. r.Body must be an item of MessagePack; if it is empty, there are no parameters.
func (MsgpackRPC) AppendRequest(dst []byte, r Request) (out []byte, err error) {
	out = append(dst, msgpackArray0|4, 0) //nolint:gocritic // dst is returned unchanged on an error
	if r.Notification {
		out[len(dst)], out[len(dst)+1] = msgpackArray0|3, 2
	} else {
		out = appendMsgpackID(out, r.ID, r.Token)
	}
	if out, err = msgpack.AppendText(out, r.Method); err != nil {
		return dst, err
	}
	if len(r.Body) == 0 {
		return append(out, msgpackArray0), nil
	}
	return append(append(out, msgpackArray0|1), r.Body...), nil
}

// ParseRequest parses a request or a notification. Without parameters the value is nil; several parameters are one list.
func (e MsgpackRPC) ParseRequest(data []byte) (Request, error) {
	p := msgpackParser{request(e.Name()), data, 0}
	n, err := p.array()
	if err != nil {
		return Request{}, err
	}
	direction := p.next()
	r := Request{Notification: direction == 2}
	switch {
	case direction == 0 && n == 4:
		if r.ID, r.Token, err = p.id(); err != nil {
			return Request{}, err
		}
	case direction != 2 || n != 3:
		return Request{}, p.errorf(0, "a list of %d items with the type %d: want 4 with 0, or 3 with 2", n, direction)
	}
	method, err := p.text("the method")
	if err != nil {
		return Request{}, err
	}
	r.Method = string(method)
	r.Body, err = p.parameters()
	if err != nil {
		return Request{}, err
	}
	return r, nil
}

// AppendResponse appends a response. r.Body must be an item of MessagePack; if it is empty, the result is nil.
func (MsgpackRPC) AppendResponse(dst []byte, r Response) (out []byte, err error) {
	out = appendMsgpackID(append(dst, msgpackArray0|4, 1), r.ID, r.Token)
	if r.Status != nil {
		if out, err = msgpack.AppendText(out, r.Status.Error()); err != nil {
			return dst, err
		}
		return append(out, msgpackNil), nil
	}
	if out = append(out, msgpackNil); len(r.Body) == 0 {
		return append(out, msgpackNil), nil
	}
	return append(out, r.Body...), nil
}

// ParseResponse parses a response.
func (e MsgpackRPC) ParseResponse(data []byte) (Response, error) {
	p := msgpackParser{response(e.Name()), data, 0}
	n, err := p.array()
	if err != nil {
		return Response{}, err
	}
	if direction := p.next(); direction != 1 || n != 4 {
		return Response{}, p.errorf(0, "a list of %d items with the type %d: want 4 with 1", n, direction)
	}
	var r Response
	if r.ID, r.Token, err = p.id(); err != nil {
		return Response{}, err
	}
	switch c := p.peek(); {
	case c == msgpackNil:
		p.pos++
		if r.Body = data[p.pos:]; len(r.Body) == 0 {
			return Response{}, p.cut("the result")
		}
	case p.pos >= len(data) || len(data)-p.pos < 2 || data[len(data)-1] != msgpackNil:
		return Response{}, p.errorf(len(data), "an error must be followed by a result that is nil")
	default:
		r.Status, err = p.status()
	}
	return r, err
}

// status reads the error, which lies before a nil at the end of the message.
func (p *msgpackParser) status() (*call.Status, error) {
	last := len(p.data) - 1
	raw := p.data[p.pos:last]
	if kind, _, _, err := msgpack.ReadHead(raw, 0); err == nil && kind != field.Text {
		return &call.Status{Code: call.Unknown, Message: "the error is no text", Details: []call.Detail{{Type: MsgpackData, Value: bytes.Clone(raw)}}}, nil
	}
	text, err := p.text("the error")
	switch {
	case err != nil:
		return nil, err
	case p.pos != last:
		return nil, p.errorf(p.pos, "an error must be followed by a result that is nil")
	}
	return statusOf(strings.ToValidUTF8(string(text), "\uFFFD")), nil
}

func appendMsgpackID(dst []byte, id uint64, token []byte) []byte {
	if len(token) > 0 {
		return append(dst, token...)
	}
	dst = append(dst, msgpackText0)
	start := len(dst)
	dst = strconv.AppendUint(dst, id, 10) // at most 20 digits
	dst[start-1] |= byte(len(dst) - start)
	return dst
}

// msgpackParser reads the items before the value. MessagePack specification, section "Formats".
type msgpackParser struct {
	kind
	data []byte
	pos  int
}

func (p *msgpackParser) cut(within string) error {
	return p.errorf(len(p.data), "the message ends in %s", within)
}

// peek returns the next byte, or a byte that MessagePack never uses.
func (p *msgpackParser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0xc1
}

func (p *msgpackParser) next() byte {
	c := p.peek()
	p.pos++
	return c
}

// array reads the head of a list and returns its number of items.
func (p *msgpackParser) array() (uint64, error) {
	kind, off, n, err := msgpack.ReadHead(p.data, p.pos)
	switch {
	case err != nil:
		return 0, p.cut("a list")
	case kind != field.List:
		return 0, p.errorf(p.pos, "byte %#x where a list is expected", p.peek())
	}
	p.pos = off
	return n, nil
}

// text reads a text. what names it in errors.
func (p *msgpackParser) text(what string) ([]byte, error) {
	kind, off, n, err := msgpack.ReadHead(p.data, p.pos)
	switch {
	case err != nil:
		return nil, p.cut(what)
	case kind != field.Text:
		return nil, p.errorf(p.pos, "%s begins with byte %#x: want a text", what, p.peek())
	case n > uint64(len(p.data)-off):
		return nil, p.errorf(p.pos, "%s has %d bytes where %d follow", what, n, len(p.data)-off)
	}
	p.pos = off + int(n)
	return p.data[off:p.pos], nil
}

// id reads a text, or a number that is not negative.
func (p *msgpackParser) id() (id uint64, token []byte, err error) {
	at := p.pos
	kind, off, n, err := msgpack.ReadHead(p.data, at)
	if err == nil && kind == field.Int && n <= uint64(len(p.data)-off) {
		p.pos = off + int(n)
		v, err := msgpack.Format{}.Value(p.data, field.Span{Head: at, Off: off, End: p.pos, Kind: kind}, field.Uint64)
		if err != nil {
			return 0, nil, p.errorf(at, "the id is negative: want a text, or a number that is not")
		}
		return uint64(v.Int), p.data[at:p.pos:p.pos], nil
	}
	text, err := p.text("the id")
	if err != nil {
		return 0, nil, err
	}
	id, _ = parseUint(text) // a text that is no number stands for 0
	return id, p.data[at:p.pos:p.pos], nil
}

// parameters reads the list at the end of a request and returns the value in it. Its codec checks that it ends with the message.
func (p *msgpackParser) parameters() ([]byte, error) {
	at := p.pos
	n, err := p.array()
	rest := p.data[min(p.pos, len(p.data)):]
	switch {
	case err != nil:
		return nil, err
	case n == 0 && len(rest) > 0:
		return nil, p.errorf(p.pos, "%d bytes behind the parameters", len(rest))
	case n == 0:
		return []byte{msgpackNil}, nil
	case len(rest) == 0:
		return nil, p.cut("the parameters")
	case n == 1:
		return rest, nil
	}
	return p.data[at:], nil
}
