package native

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// HelloFrame is the client's first frame on a connection.
type HelloFrame struct {
	MinVersion, MaxVersion uint8
	Token                  []byte // credentials; empty if the client's TLS certificate replaces them
	Name                   string // the client's name for logs and metrics; grants nothing
	Limits                 CallLimits
}

// WelcomeFrame is the response to HELLO.
type WelcomeFrame struct {
	Version   uint8
	Streams   uint8  // number of data streams in each direction: a tag uses stream number tag % Streams; 0 means that all frames are on the first stream
	Source    uint32 // the client's source id
	MaxFrame  uint32 // largest frame in bytes
	Window    uint32 // bytes that the client may send on each tag before the first CREDIT
	Heartbeat uint32 // interval in milliseconds; a connection ends after three intervals without a byte
	Limits    CallLimits
	Node      string // id of the node, in version 3; empty if it has none
}

// GoawayFrame announces the end of a connection and its reason.
type GoawayFrame struct {
	Code   Code
	Reason string
}

// TagFrame names a tag. A client sends it to request the tag, with a Ref that it chooses. A node sends it to announce the
// number of the tag, which is Ref.
type TagFrame struct {
	Ref  uint32
	Name string
}

// Policy decides which messages are dropped, or whether publishers are blocked, when a subscription's queue is full.
type Policy uint8

// The policies.
const (
	Block      Policy = 0 // drop nothing; give the publishers of that tag no more credit
	DropOldest Policy = 1 // keep the newest messages, count the dropped ones
	DropNewest Policy = 2 // keep the queued messages, count the dropped ones
)

var policyNames = [...]string{"block", "drop-oldest", "drop-newest"}

// String returns the name of the policy on the command line.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("policy %d", uint8(p))
}

// ParsePolicy returns the policy with the name that String returns.
func ParsePolicy(s string) (Policy, error) {
	for i, name := range policyNames {
		if s == name {
			return Policy(i), nil
		}
	}
	return 0, fmt.Errorf("native: unknown policy %q: want one of %v", s, policyNames)
}

// SubFrame is a client's request to subscribe.
type SubFrame struct {
	ID        uint32 // number of the subscription, chosen by the client; not 0
	Addressed bool   // deliver only messages that are addressed to this client
	Policy    Policy
	Window    uint32 // bytes that the node may send on each tag before the first CREDIT
	Queue     uint32 // bytes that the node may queue for each tag; 0 means the node's default
	Filter    string // filter of tags; may contain the wildcards + and #
	Group     string // consumer group: each message is delivered to one member; "" means no group
	Where     string // predicate over the payload; "" selects all messages

	// Version 2.
	Start   Start  // where in a stream the subscription begins
	Value   uint64 // with StartSequence a sequence number, with StartTime Unix nanoseconds
	Durable string // name of the durable; "" means none

	// Concurrency is how many messages of a durable the client handles at a time. They are the ones that count as delivered when its
	// connection is lost: those that it has had longest. 0 means any number.
	Concurrency uint16
}

// Stored reports whether the subscription reads a stream.
func (s *SubFrame) Stored() bool { return s.Start != StartLive || s.Durable != "" }

// CreditFrame allows Bytes more bytes of PUB frames on a tag. A client sends it for its subscription Sub. A node sends it to a
// publisher, with Sub 0.
type CreditFrame struct{ Sub, Tag, Bytes uint32 }

// ResultFrame is the response to TAG, SUB and OFFER. For a TAG, Ref is the Ref of the request and Value the number of the tag. For
// a SUB and an OFFER, Ref is the ID of the request.
type ResultFrame struct {
	Kind   Kind // kind of the request: Tag, Sub or Offer
	Ref    uint32
	Value  uint32 // Tag: the number of the tag; Sub of a durable: its acknowledgement time in milliseconds; Offer: Withdrawn in the response to a withdrawal
	Code   Code
	Reason string
	Stored bool // Tag: CREDIT returns the bytes of messages that are stored; Sub: the subscription reads a stream

	// From is the sequence number from which a Sub without a durable gets messages, if it has begun with new messages or at a number.
	// After the loss of its connection the client asks for messages from there on, until it has received one. 0 means none.
	From uint64
}

// Withdrawn is the Value of a ResultFrame that responds to an OFFER with FlagWithdraw.
const Withdrawn = 1

// NoticeFrame tells a publisher that messages were dropped, or with Count 0 that a stored tag waits for its storage.
type NoticeFrame struct {
	Tag, Count uint32
	Code       Code
	Reason     string // reason for the first dropped message
}

// appendHeader appends a frame header whose length is still 0. seal sets the length later.
func appendHeader(dst []byte, k Kind, flags byte) []byte {
	return append(dst, 0, 0, 0, 0, byte(k), flags, 0, 0)
}

func seal(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// appendText appends the length of s in two bytes, and then s. A text that is too long is cut. Only a reason can be too long,
// because the caller has checked all other texts.
func appendText[T string | []byte](dst []byte, s T) []byte {
	s = cutText(s, math.MaxUint16)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(s)))
	return append(dst, s...)
}

// cutText returns at most limit bytes of s. It cuts between two runes.
func cutText[T string | []byte](s T, limit int) T {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// AppendHello appends a HELLO.
func AppendHello(dst []byte, h HelloFrame) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, Hello, 0), Magic)
	dst = append(dst, h.MinVersion, h.MaxVersion, 0, 0)
	return seal(appendLimits(appendText(appendText(dst, h.Token), h.Name), h.Limits), n)
}

// limitsSize is the length of the limits of calls, in bytes.
const limitsSize = 12

// appendLimits appends the limits, which are left out if the sender accepts no calls.
func appendLimits(dst []byte, l CallLimits) []byte {
	if l == (CallLimits{}) {
		return dst
	}
	for _, v := range [...]uint32{l.Calls, l.Window, l.StreamWindow} {
		dst = binary.BigEndian.AppendUint32(dst, v)
	}
	return dst
}

// limits reads the limits at the end of a frame, if they are there.
func (r *fieldReader) limits() (l CallLimits) {
	if len(r.b) > 0 {
		l.Calls, l.Window, l.StreamWindow = r.u32(), r.u32(), r.u32()
	}
	return l
}

// AppendWelcome appends a WELCOME.
func AppendWelcome(dst []byte, w WelcomeFrame) []byte {
	n := len(dst)
	dst = append(appendHeader(dst, Welcome, 0), w.Version, w.Streams, 0, 0)
	for _, v := range [...]uint32{w.Source, w.MaxFrame, w.Window, w.Heartbeat} {
		dst = binary.BigEndian.AppendUint32(dst, v)
	}
	dst = appendLimits(dst, w.Limits)
	if w.Node != "" {
		if w.Limits == (CallLimits{}) {
			dst = append(dst, make([]byte, limitsSize)...)
		}
		dst = appendText(dst, w.Node)
	}
	return seal(dst, n)
}

// AppendPing appends a PING. If ack is set, it appends the response to a PING.
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
	dst = appendText(appendText(appendText(dst, s.Filter), s.Group), s.Where)
	if s.Stored() {
		dst = binary.BigEndian.AppendUint16(append(dst, byte(s.Start), 0), s.Concurrency)
		dst = binary.BigEndian.AppendUint64(dst, s.Value)
		dst = appendText(dst, s.Durable)
	}
	return seal(dst, n)
}

// AppendUnsub appends an UNSUB.
func AppendUnsub(dst []byte, sub uint32) []byte { return appendNumber(dst, Unsub, sub) }

// AppendUnsubNotTried appends an UNSUB of a durable: no handler has seen the messages that the subscription still holds.
func AppendUnsubNotTried(dst []byte, sub uint32) []byte {
	n := len(dst)
	dst = AppendUnsub(dst, sub)
	Frame(dst[n:]).SetFlags(FlagNotTried)
	return dst
}

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
	var flags byte
	if r.Stored {
		flags = FlagStored
	}
	if r.From > 0 {
		flags |= FlagFrom
	}
	dst = append(appendHeader(dst, Result, flags), byte(r.Kind), 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Code))
	dst = binary.BigEndian.AppendUint32(dst, r.Ref)
	dst = binary.BigEndian.AppendUint32(dst, r.Value)
	dst = appendText(dst, r.Reason)
	if r.From > 0 {
		dst = binary.BigEndian.AppendUint64(dst, r.From)
	}
	return seal(dst, n)
}

// AppendNotice appends a NOTICE.
func AppendNotice(dst []byte, v NoticeFrame) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, Notice, 0), v.Tag)
	dst = binary.BigEndian.AppendUint32(dst, v.Count)
	dst = binary.BigEndian.AppendUint16(dst, uint16(v.Code))
	return seal(appendText(dst, v.Reason), n)
}

// fieldReader reads the fields of a frame in order. After the end of the frame all further fields are zero, and done returns
// an error.
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

// done returns an error if a field was missing or malformed. Bytes after the known fields are not an error, because they are
// reserved for later versions.
func (r *fieldReader) done() error {
	if r.failed {
		return &Error{Code: CodeProtocol, Reason: fmt.Sprintf("%v frame of %d bytes ends early, or holds text that is not UTF-8 or a malformed range", r.f.Kind(), len(r.f))}
	}
	return nil
}

// ParseHello reads a HELLO. The Token in the result is a part of f, not a copy.
func ParseHello(f Frame) (h HelloFrame, err error) {
	r := readFields(f)
	if r.u32() != Magic {
		return h, &Error{Code: CodeProtocol, Reason: "this is not a ferry client: HELLO does not begin with FRRY"}
	}
	h.MinVersion, h.MaxVersion = r.u8(), r.u8()
	r.take(2)
	h.Token, h.Name = r.bytes(), r.text()
	if h.MaxVersion >= CallVersion {
		h.Limits = r.limits()
	}
	return h, r.done()
}

// Negotiate returns the protocol version of a connection: the highest version that client and node share. h is the client's
// HELLO. The node speaks the versions lowest to highest.
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
	if w.Version >= CallVersion {
		w.Limits = r.limits()
	}
	if w.Version >= ForwardVersion && len(r.b) > 0 {
		w.Node = r.text()
	}
	return w, r.done()
}

// ParsePing reads the value of a PING. The response carries the same value.
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
	if len(r.b) > 0 {
		s.Start = Start(r.u8())
		r.take(1)
		s.Concurrency = r.u16()
		s.Value, s.Durable = r.u64(), r.text()
	}
	if err := r.done(); err != nil {
		return s, err
	}
	if s.Start > StartTime {
		return s, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("SUB with start %d: at most %d is known", s.Start, StartTime)}
	}
	if s.ID == 0 || s.Policy > DropNewest {
		return s, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("SUB with id %d and policy %d: the id must not be 0, the policy at most %d", s.ID, s.Policy, DropNewest)}
	}
	return s, nil
}

// ParseNumber reads the only field of an UNSUB, SELECT or JOIN: a number.
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
	v.Stored = f.Flags()&FlagStored != 0
	if f.Flags()&FlagFrom != 0 {
		v.From = r.u64()
	}
	return v, r.done()
}

// ParseNotice reads a NOTICE.
func ParseNotice(f Frame) (v NoticeFrame, err error) {
	r := readFields(f)
	v.Tag, v.Count, v.Code, v.Reason = r.u32(), r.u32(), Code(r.u16()), r.text()
	return v, r.done()
}
