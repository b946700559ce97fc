package native

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// HelloFrame opens a connection.
type HelloFrame struct {
	MinVersion, MaxVersion uint8
	Token                  []byte // credentials; empty for a client whose certificate speaks for it
	Name                   string // for logs and metrics; no authority
}

// WelcomeFrame answers HELLO.
type WelcomeFrame struct {
	Version   uint8
	Streams   uint8  // data streams a tag is spread over where the transport has streams: tag % Streams; 0 means all on the first
	Source    uint32 // the client's source id
	MaxFrame  uint32 // bytes, of the whole frame
	Window    uint32 // bytes that may be sent on each tag before the first CREDIT
	Heartbeat uint32 // milliseconds: silence of three of these ends the connection
}

// GoawayFrame ends a connection.
type GoawayFrame struct {
	Code   Code
	Reason string
}

// TagFrame asks for (client: Ref is any number of its own) or announces (node: Ref is the tag's number) a tag.
type TagFrame struct {
	Ref  uint32
	Name string
}

// Policy says what happens to messages that a subscription has no room for.
type Policy uint8

// The policies.
const (
	Block      Policy = 0 // withhold credit of that tag from its publishers
	DropOldest Policy = 1 // keep the newest, count the rest
	DropNewest Policy = 2 // keep what is queued, count the rest
)

var policyNames = [...]string{"block", "drop-oldest", "drop-newest"}

// String names the policy as the command line does.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("policy %d", uint8(p))
}

// ParsePolicy is the inverse of String.
func ParsePolicy(s string) (Policy, error) {
	for i, name := range policyNames {
		if s == name {
			return Policy(i), nil
		}
	}
	return 0, fmt.Errorf("native: unknown policy %q: want one of %v", s, policyNames)
}

// SubFrame subscribes.
type SubFrame struct {
	ID     uint32 // of the client's choosing, not 0
	Back   bool   // deliver what is addressed to this client, and nothing else
	Policy Policy
	Window uint32 // bytes the node may send of each tag before the first CREDIT
	Queue  uint32 // bytes the node may queue of each tag; 0 means the node's default
	Filter string // tag filter, may hold + and #
	Group  string // one member of a group gets each message; "" means every message is for this subscription
	Where  string // predicate over the payload; "" means all
}

// CreditFrame allows more bytes of whole frames: of a tag to a subscription, or (Sub 0) from a publisher.
type CreditFrame struct{ Sub, Tag, Bytes uint32 }

// ResultFrame answers TAG (Ref as sent; Value is the tag's number) and SUB (Ref is the subscription).
type ResultFrame struct {
	Kind   Kind // Tag or Sub
	Ref    uint32
	Value  uint32
	Code   Code
	Reason string
}

// NoticeFrame tells a publisher of messages that were dropped.
type NoticeFrame struct {
	Tag, Count uint32
	Code       Code
	Reason     string // of the first one
}

// header appends a frame header with its length still open; seal closes it.
func header(dst []byte, k Kind, flags byte) []byte {
	return append(dst, 0, 0, 0, 0, byte(k), flags, 0, 0)
}

func seal(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// text appends s with its length in two bytes. Longer texts are cut at a rune: they are reasons, or were checked before.
func text[T string | []byte](dst []byte, s T) []byte {
	if len(s) > math.MaxUint16 {
		n := math.MaxUint16
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(s)))
	return append(dst, s...)
}

// AppendHello appends a HELLO.
func AppendHello(dst []byte, h HelloFrame) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint32(header(dst, Hello, 0), Magic)
	dst = append(dst, h.MinVersion, h.MaxVersion, 0, 0)
	return seal(text(text(dst, h.Token), h.Name), n)
}

// AppendWelcome appends a WELCOME.
func AppendWelcome(dst []byte, w WelcomeFrame) []byte {
	n := len(dst)
	dst = append(header(dst, Welcome, 0), w.Version, w.Streams, 0, 0)
	for _, v := range [...]uint32{w.Source, w.MaxFrame, w.Window, w.Heartbeat} {
		dst = binary.BigEndian.AppendUint32(dst, v)
	}
	return seal(dst, n)
}

// AppendPing appends a PING, or its answer.
func AppendPing(dst []byte, ack bool, value uint64) []byte {
	n := len(dst)
	var flags byte
	if ack {
		flags = FlagAck
	}
	return seal(binary.BigEndian.AppendUint64(header(dst, Ping, flags), value), n)
}

// AppendGoaway appends a GOAWAY.
func AppendGoaway(dst []byte, g GoawayFrame) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint16(header(dst, Goaway, 0), uint16(g.Code))
	return seal(text(dst, g.Reason), n)
}

// AppendTag appends a TAG.
func AppendTag(dst []byte, t TagFrame) []byte {
	n := len(dst)
	return seal(text(binary.BigEndian.AppendUint32(header(dst, Tag, 0), t.Ref), t.Name), n)
}

// AppendSub appends a SUB.
func AppendSub(dst []byte, s SubFrame) []byte {
	n := len(dst)
	var flags byte
	if s.Back {
		flags = FlagBack
	}
	dst = binary.BigEndian.AppendUint32(header(dst, Sub, flags), s.ID)
	dst = append(dst, byte(s.Policy), 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, s.Window)
	dst = binary.BigEndian.AppendUint32(dst, s.Queue)
	return seal(text(text(text(dst, s.Filter), s.Group), s.Where), n)
}

// AppendUnsub appends an UNSUB.
func AppendUnsub(dst []byte, sub uint32) []byte { return appendNumber(dst, Unsub, sub) }

// AppendSelect appends a SELECT.
func AppendSelect(dst []byte, sub uint32) []byte { return appendNumber(dst, Select, sub) }

// AppendJoin appends a JOIN.
func AppendJoin(dst []byte, stream uint32) []byte { return appendNumber(dst, Join, stream) }

func appendNumber(dst []byte, k Kind, v uint32) []byte {
	n := len(dst)
	return seal(binary.BigEndian.AppendUint32(header(dst, k, 0), v), n)
}

// AppendCredit appends a CREDIT.
func AppendCredit(dst []byte, c CreditFrame) []byte {
	n := len(dst)
	dst = header(dst, Credit, 0)
	for _, v := range [...]uint32{c.Sub, c.Tag, c.Bytes} {
		dst = binary.BigEndian.AppendUint32(dst, v)
	}
	return seal(dst, n)
}

// AppendResult appends a RESULT.
func AppendResult(dst []byte, r ResultFrame) []byte {
	n := len(dst)
	dst = append(header(dst, Result, 0), byte(r.Kind), 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Code))
	dst = binary.BigEndian.AppendUint32(dst, r.Ref)
	dst = binary.BigEndian.AppendUint32(dst, r.Value)
	return seal(text(dst, r.Reason), n)
}

// AppendNotice appends a NOTICE.
func AppendNotice(dst []byte, v NoticeFrame) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint32(header(dst, Notice, 0), v.Tag)
	dst = binary.BigEndian.AppendUint32(dst, v.Count)
	dst = binary.BigEndian.AppendUint16(dst, uint16(v.Code))
	return seal(text(dst, v.Reason), n)
}

// body reads a frame's fields in order. After the first one that is not there all are zero, and done says so.
type body struct {
	b    []byte
	f    Frame
	fail bool
}

func fields(f Frame) body { return body{b: f[HeaderSize:], f: f} }

func (r *body) take(n int) []byte {
	if len(r.b) < n {
		r.b, r.fail = nil, true
		return make([]byte, n)
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *body) u8() uint8     { return r.take(1)[0] }
func (r *body) u16() uint16   { return binary.BigEndian.Uint16(r.take(2)) }
func (r *body) u32() uint32   { return binary.BigEndian.Uint32(r.take(4)) }
func (r *body) u64() uint64   { return binary.BigEndian.Uint64(r.take(8)) }
func (r *body) bytes() []byte { return r.take(int(r.u16())) }

func (r *body) text() string {
	b := r.bytes()
	if !utf8.Valid(b) {
		r.fail = true
	}
	return string(b)
}

// done ends the reading. Bytes behind the known fields are room for later versions, and no error.
func (r *body) done() error {
	if r.fail {
		return &Error{Code: CodeProtocol, Reason: fmt.Sprintf("%v frame of %d bytes ends early or holds text that is not UTF-8", r.f.Kind(), len(r.f))}
	}
	return nil
}

// ParseHello reads a HELLO. Token is a view.
func ParseHello(f Frame) (h HelloFrame, err error) {
	r := fields(f)
	if r.u32() != Magic {
		return h, &Error{Code: CodeProtocol, Reason: "this is not a ferry client: HELLO does not begin with FRRY"}
	}
	h.MinVersion, h.MaxVersion = r.u8(), r.u8()
	r.take(2)
	h.Token, h.Name = r.bytes(), r.text()
	return h, r.done()
}

// Negotiate returns the version for a connection between a client that sent h and a node that speaks lowest to highest: the
// highest in both ranges.
func Negotiate(h HelloFrame, lowest, highest uint8) (uint8, error) {
	common := min(h.MaxVersion, highest)
	if common < max(h.MinVersion, lowest) {
		return 0, &Error{Code: CodeVersion, Reason: fmt.Sprintf("the client speaks versions %d to %d, this node speaks %d to %d", h.MinVersion, h.MaxVersion, lowest, highest)}
	}
	return common, nil
}

// ParseWelcome reads a WELCOME.
func ParseWelcome(f Frame) (w WelcomeFrame, err error) {
	r := fields(f)
	w.Version, w.Streams = r.u8(), r.u8()
	r.take(2)
	w.Source, w.MaxFrame, w.Window, w.Heartbeat = r.u32(), r.u32(), r.u32(), r.u32()
	return w, r.done()
}

// ParsePing reads a PING: the bytes to answer with.
func ParsePing(f Frame) (uint64, error) {
	r := fields(f)
	v := r.u64()
	return v, r.done()
}

// ParseGoaway reads a GOAWAY.
func ParseGoaway(f Frame) (g GoawayFrame, err error) {
	r := fields(f)
	g.Code, g.Reason = Code(r.u16()), r.text()
	return g, r.done()
}

// ParseTag reads a TAG.
func ParseTag(f Frame) (t TagFrame, err error) {
	r := fields(f)
	t.Ref, t.Name = r.u32(), r.text()
	return t, r.done()
}

// ParseSub reads a SUB.
func ParseSub(f Frame) (s SubFrame, err error) {
	r := fields(f)
	s.Back = f.Flags()&FlagBack != 0
	s.ID, s.Policy = r.u32(), Policy(r.u8())
	r.take(3)
	s.Window, s.Queue = r.u32(), r.u32()
	s.Filter, s.Group, s.Where = r.text(), r.text(), r.text()
	if err := r.done(); err != nil {
		return s, err
	}
	if s.ID == 0 || s.Policy > DropNewest {
		return s, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("SUB with id %d and policy %d: the id must not be 0, the policy at most %d", s.ID, s.Policy, DropNewest)}
	}
	return s, nil
}

// ParseNumber reads the one number of an UNSUB, SELECT or JOIN.
func ParseNumber(f Frame) (uint32, error) {
	r := fields(f)
	v := r.u32()
	return v, r.done()
}

// ParseCredit reads a CREDIT.
func ParseCredit(f Frame) (c CreditFrame, err error) {
	r := fields(f)
	c.Sub, c.Tag, c.Bytes = r.u32(), r.u32(), r.u32()
	return c, r.done()
}

// ParseResult reads a RESULT.
func ParseResult(f Frame) (v ResultFrame, err error) {
	r := fields(f)
	v.Kind = Kind(r.u8())
	r.take(1)
	v.Code, v.Ref, v.Value, v.Reason = Code(r.u16()), r.u32(), r.u32(), r.text()
	return v, r.done()
}

// ParseNotice reads a NOTICE.
func ParseNotice(f Frame) (v NoticeFrame, err error) {
	r := fields(f)
	v.Tag, v.Count, v.Code, v.Reason = r.u32(), r.u32(), Code(r.u16()), r.text()
	return v, r.done()
}
