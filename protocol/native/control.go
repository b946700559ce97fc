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
	Token                  []byte // credentials; empty if the client's TLS certificate is its credential
	Name                   string // for logs and metrics; grants nothing
}

// WelcomeFrame is the response to HELLO.
type WelcomeFrame struct {
	Version   uint8
	Streams   uint8  // data streams in each direction: a tag uses number tag % Streams. 0 means all frames are on the first stream
	Source    uint32 // the client's source id
	MaxFrame  uint32 // bytes, of the whole frame
	Window    uint32 // bytes that may be sent on each tag before the first CREDIT
	Heartbeat uint32 // milliseconds; three of them without a byte end the connection
}

// GoawayFrame ends a connection.
type GoawayFrame struct {
	Code   Code
	Reason string
}

// TagFrame names a tag. A client sends it to request the tag, with any Ref; a node sends it to announce the tag's number, Ref.
type TagFrame struct {
	Ref  uint32
	Name string
}

// Policy decides about messages that exceed a subscription's queue.
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
	ID        uint32 // chosen by the client; not 0
	Addressed bool   // deliver messages addressed to this client, and no others
	Policy    Policy
	Window    uint32 // bytes the node may send of each tag before the first CREDIT
	Queue     uint32 // bytes the node may queue of each tag; 0 means the node's default
	Filter    string // tag filter, may hold + and #
	Group     string // each message goes to one member of a group; "" means no group
	Where     string // predicate over the payload; "" means all
}

// CreditFrame allows further bytes of PUB frames of a tag: to a subscription, or from a publisher if Sub is 0.
type CreditFrame struct{ Sub, Tag, Bytes uint32 }

// ResultFrame is the response to TAG (Ref as sent; Value is the tag's number) and to SUB (Ref is the subscription).
type ResultFrame struct {
	Kind   Kind // Tag or Sub
	Ref    uint32
	Value  uint32
	Code   Code
	Reason string
}

// NoticeFrame reports to a publisher that messages were dropped.
type NoticeFrame struct {
	Tag, Count uint32
	Code       Code
	Reason     string // of the first one
}

// appendHeader appends a frame header without its length, which seal fills in.
func appendHeader(dst []byte, k Kind, flags byte) []byte {
	return append(dst, 0, 0, 0, 0, byte(k), flags, 0, 0)
}

func seal(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// appendText appends s behind its length, two bytes. It cuts a longer text at a rune: only reasons can be that long, as other
// texts were checked before.
func appendText[T string | []byte](dst []byte, s T) []byte {
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
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, Hello, 0), Magic)
	dst = append(dst, h.MinVersion, h.MaxVersion, 0, 0)
	return seal(appendText(appendText(dst, h.Token), h.Name), n)
}

// AppendWelcome appends a WELCOME.
func AppendWelcome(dst []byte, w WelcomeFrame) []byte {
	n := len(dst)
	dst = append(appendHeader(dst, Welcome, 0), w.Version, w.Streams, 0, 0)
	for _, v := range [...]uint32{w.Source, w.MaxFrame, w.Window, w.Heartbeat} {
		dst = binary.BigEndian.AppendUint32(dst, v)
	}
	return seal(dst, n)
}

// AppendPing appends a PING, or the response to one if ack is set.
func AppendPing(dst []byte, ack bool, value uint64) []byte {
	n := len(dst)
	var flags byte
	if ack {
		flags = FlagAck
	}
	return seal(binary.BigEndian.AppendUint64(appendHeader(dst, Ping, flags), value), n)
}

// AppendGoaway appends a GOAWAY.
func AppendGoaway(dst []byte, g GoawayFrame) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint16(appendHeader(dst, Goaway, 0), uint16(g.Code))
	return seal(appendText(dst, g.Reason), n)
}

// AppendTag appends a TAG.
func AppendTag(dst []byte, t TagFrame) []byte {
	n := len(dst)
	return seal(appendText(binary.BigEndian.AppendUint32(appendHeader(dst, Tag, 0), t.Ref), t.Name), n)
}

// AppendSub appends a SUB.
func AppendSub(dst []byte, s SubFrame) []byte {
	n := len(dst)
	var flags byte
	if s.Addressed {
		flags = FlagAddressed
	}
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, Sub, flags), s.ID)
	dst = append(dst, byte(s.Policy), 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, s.Window)
	dst = binary.BigEndian.AppendUint32(dst, s.Queue)
	return seal(appendText(appendText(appendText(dst, s.Filter), s.Group), s.Where), n)
}

// AppendUnsub appends an UNSUB.
func AppendUnsub(dst []byte, sub uint32) []byte { return appendNumber(dst, Unsub, sub) }

// AppendSelect appends a SELECT.
func AppendSelect(dst []byte, sub uint32) []byte { return appendNumber(dst, Select, sub) }

// AppendJoin appends a JOIN.
func AppendJoin(dst []byte, stream uint32) []byte { return appendNumber(dst, Join, stream) }

func appendNumber(dst []byte, k Kind, v uint32) []byte {
	n := len(dst)
	return seal(binary.BigEndian.AppendUint32(appendHeader(dst, k, 0), v), n)
}

// AppendCredit appends a CREDIT.
func AppendCredit(dst []byte, c CreditFrame) []byte {
	n := len(dst)
	dst = appendHeader(dst, Credit, 0)
	for _, v := range [...]uint32{c.Sub, c.Tag, c.Bytes} {
		dst = binary.BigEndian.AppendUint32(dst, v)
	}
	return seal(dst, n)
}

// AppendResult appends a RESULT.
func AppendResult(dst []byte, r ResultFrame) []byte {
	n := len(dst)
	dst = append(appendHeader(dst, Result, 0), byte(r.Kind), 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Code))
	dst = binary.BigEndian.AppendUint32(dst, r.Ref)
	dst = binary.BigEndian.AppendUint32(dst, r.Value)
	return seal(appendText(dst, r.Reason), n)
}

// AppendNotice appends a NOTICE.
func AppendNotice(dst []byte, v NoticeFrame) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, Notice, 0), v.Tag)
	dst = binary.BigEndian.AppendUint32(dst, v.Count)
	dst = binary.BigEndian.AppendUint16(dst, uint16(v.Code))
	return seal(appendText(dst, v.Reason), n)
}

// fieldReader reads a frame's fields in order. After the frame's end all further fields are zero, and done returns an error.
type fieldReader struct {
	b      []byte
	f      Frame
	failed bool
}

func readFields(f Frame) fieldReader { return fieldReader{b: f[HeaderSize:], f: f} }

func (r *fieldReader) take(n int) []byte {
	if len(r.b) < n {
		r.b, r.failed = nil, true
		return make([]byte, n)
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *fieldReader) u8() uint8     { return r.take(1)[0] }
func (r *fieldReader) u16() uint16   { return binary.BigEndian.Uint16(r.take(2)) }
func (r *fieldReader) u32() uint32   { return binary.BigEndian.Uint32(r.take(4)) }
func (r *fieldReader) u64() uint64   { return binary.BigEndian.Uint64(r.take(8)) }
func (r *fieldReader) bytes() []byte { return r.take(int(r.u16())) }

func (r *fieldReader) text() string {
	b := r.bytes()
	if !utf8.Valid(b) {
		r.failed = true
	}
	return string(b)
}

// done returns an error if a field was missing or malformed. Bytes behind the known fields are no error: they are reserved for
// later versions.
func (r *fieldReader) done() error {
	if r.failed {
		return &Error{Code: CodeProtocol, Reason: fmt.Sprintf("%v frame of %d bytes ends early or holds text that is not UTF-8", r.f.Kind(), len(r.f))}
	}
	return nil
}

// ParseHello reads a HELLO. Token is a part of f.
func ParseHello(f Frame) (h HelloFrame, err error) {
	r := readFields(f)
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
	r := readFields(f)
	w.Version, w.Streams = r.u8(), r.u8()
	r.take(2)
	w.Source, w.MaxFrame, w.Window, w.Heartbeat = r.u32(), r.u32(), r.u32(), r.u32()
	return w, r.done()
}

// ParsePing reads a PING. The response carries the same value.
func ParsePing(f Frame) (uint64, error) {
	r := readFields(f)
	v := r.u64()
	return v, r.done()
}

// ParseGoaway reads a GOAWAY.
func ParseGoaway(f Frame) (g GoawayFrame, err error) {
	r := readFields(f)
	g.Code, g.Reason = Code(r.u16()), r.text()
	return g, r.done()
}

// ParseTag reads a TAG.
func ParseTag(f Frame) (t TagFrame, err error) {
	r := readFields(f)
	t.Ref, t.Name = r.u32(), r.text()
	return t, r.done()
}

// ParseSub reads a SUB.
func ParseSub(f Frame) (s SubFrame, err error) {
	r := readFields(f)
	s.Addressed = f.Flags()&FlagAddressed != 0
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
	r := readFields(f)
	v := r.u32()
	return v, r.done()
}

// ParseCredit reads a CREDIT.
func ParseCredit(f Frame) (c CreditFrame, err error) {
	r := readFields(f)
	c.Sub, c.Tag, c.Bytes = r.u32(), r.u32(), r.u32()
	return c, r.done()
}

// ParseResult reads a RESULT.
func ParseResult(f Frame) (v ResultFrame, err error) {
	r := readFields(f)
	v.Kind = Kind(r.u8())
	r.take(1)
	v.Code, v.Ref, v.Value, v.Reason = Code(r.u16()), r.u32(), r.u32(), r.text()
	return v, r.done()
}

// ParseNotice reads a NOTICE.
func ParseNotice(f Frame) (v NoticeFrame, err error) {
	r := readFields(f)
	v.Tag, v.Count, v.Code, v.Reason = r.u32(), r.u32(), Code(r.u16()), r.text()
	return v, r.done()
}
