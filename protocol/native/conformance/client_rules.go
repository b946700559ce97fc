package conformance

import (
	"fmt"

	"example.com/ferry/protocol/native"
)

// clientRules checks what holds for each frame of a client, in all cases. run.mu guards its fields.
type clientRules struct {
	greeted bool  // HELLO has arrived
	window  int64 // bytes for each tag
	source  uint32
	version uint8
	left    bool // GOAWAY has arrived

	grants  map[uint32]*grant // by tag number
	subs    map[uint32]*subscribed
	methods map[uint16]native.MethodFrame
	calls   map[uint32]int // CALLCREDIT received, by call
	beats   int            // ACKs in progress
	pings   int            // PINGs that ask for a response

	withdrawn map[uint32]int // withdrawals of offers, by id
	reply     func([]byte)   // sends the response to a withdrawal
}

// grant is what a client may publish on a tag.
type grant struct {
	left  int64 // bytes; the last frame may exceed it
	freed bool
}

// subscribed is a subscription of the client.
type subscribed struct {
	credit map[uint32]int // bytes that CREDIT has returned, by tag number
	sent   map[uint32]int // bytes that the kit has sent, by tag number
	window int            // bytes for each tag
}

func newClientRules() *clientRules {
	return &clientRules{
		grants: map[uint32]*grant{}, subs: map[uint32]*subscribed{}, methods: map[uint16]native.MethodFrame{}, calls: map[uint32]int{},
		withdrawn: map[uint32]int{},
	}
}

func (r *clientRules) welcomed(w native.WelcomeFrame) {
	r.window, r.source, r.version = int64(w.Window), w.Source, w.Version
}

// result notes what a RESULT grants, before it is sent.
func (r *clientRules) result(v native.ResultFrame) {
	if v.Kind == native.Tag && v.Code == native.CodeOK {
		r.grants[v.Value] = &grant{left: r.window}
	}
}

// credited notes a CREDIT before it is sent.
func (r *clientRules) credited(number, bytes uint32) {
	if g := r.grants[number]; g != nil {
		g.left += int64(bytes)
	}
}

// arrived checks a frame.
func (r *clientRules) arrived(f native.Frame) (counted bool, broken string) {
	kind := f.Kind()
	switch {
	case !r.greeted && kind != native.Hello:
		return false, "HELLO is the first frame"
	case r.greeted && kind == native.Hello:
		return false, "one HELLO"
	case r.left:
		return false, "no frame behind GOAWAY"
	}
	r.greeted = true
	switch kind {
	case native.Hello, native.Tag:
	case native.Offer:
		return r.offer(f)
	case native.Goaway:
		r.left = true
	case native.Ping:
		if f.Flags()&native.FlagAck == 0 {
			r.pings++
		}
	case native.Sub:
		return false, r.sub(f)
	case native.Unsub:
		if id, err := native.ParseNumber(f); err != nil || r.subs[id] == nil {
			return false, "UNSUB of a subscription"
		}
	case native.Credit:
		return true, r.credit(f)
	case native.Pub:
		return false, r.pub(f)
	case native.Method:
		return true, r.method(f)
	case native.Call, native.Reply, native.Cancel, native.Data, native.CallCredit:
		return r.call(f)
	case native.Ack, native.Nak:
		return r.acknowledged(f)
	case native.Untag:
		return true, r.untag(f)
	case native.Forward:
		return false, "no FORWARD from a client that is not a node"
	case native.Join:
		return false, "no JOIN on a transport with one stream"
	default:
		return false, "a kind that a client sends"
	}
	return false, ""
}

func (r *clientRules) sub(f native.Frame) string {
	s, err := native.ParseSub(f)
	switch {
	case err != nil:
		return "a well-formed SUB: " + err.Error()
	case r.subs[s.ID] != nil:
		return "SUBs with different ids"
	case s.Stored() && r.version < native.StoredVersion:
		return "no stored subscription in version 1"
	}
	r.subs[s.ID] = &subscribed{credit: map[uint32]int{}, sent: map[uint32]int{}, window: int(s.Window)}
	return ""
}

func (r *clientRules) credit(f native.Frame) string {
	c, err := native.ParseCredit(f)
	if err != nil {
		return "a well-formed CREDIT: " + err.Error()
	}
	s := r.subs[c.Sub]
	if s == nil {
		return "CREDIT for a subscription"
	}
	if s.credit[c.Tag] += int(c.Bytes); s.credit[c.Tag] > s.sent[c.Tag] {
		return fmt.Sprintf("CREDIT for no more than the %d bytes that subscription %d got on tag number %d", s.sent[c.Tag], c.Sub, c.Tag)
	}
	return ""
}

// pub checks a published message: its tag, its source, and that the tag has credit.
func (r *clientRules) pub(f native.Frame) string {
	g := r.grants[f.Tag()]
	switch {
	case g == nil || g.freed:
		return "PUB with the number of a tag that RESULT has granted"
	case f.Flags()&(native.FlagValid|native.FlagForwarded) != 0:
		return "PUB without flags 02 and 04, which clients do not set"
	case f.Flags()&native.FlagAddressed == 0 && uint32(f.Source()) != r.source:
		return fmt.Sprintf("PUB with the client's source id, %d", r.source)
	case r.version < native.StoredVersion && f.HasExtension():
		return "PUB without an extension in version 1"
	case g.left <= 0:
		return fmt.Sprintf("no PUB without credit: the window of tag number %d is used up, by %d bytes too many", f.Tag(), -g.left)
	}
	if err := native.CheckTLVs(f.Extension()); err != nil {
		return "an extension of well-formed entries: " + err.Error()
	}
	for t := range native.TLVs(f.Extension()) {
		if t.OfNode() {
			return fmt.Sprintf("no entry of type %d, which only nodes write", t)
		}
	}
	g.left -= int64(len(f))
	return ""
}

func (r *clientRules) untag(f native.Frame) string {
	number, err := native.ParseNumber(f)
	g := r.grants[number]
	if err != nil || g == nil || r.version < native.ForwardVersion {
		return "UNTAG of a granted tag, in version 3"
	}
	g.freed = true
	return ""
}

// offer checks an OFFER. A withdrawal gets its RESULT at once.
func (r *clientRules) offer(f native.Frame) (counted bool, broken string) {
	o, err := native.ParseOffer(f)
	if err != nil || r.version < native.CallVersion {
		return false, fmt.Sprintf("a well-formed OFFER, in version 2: %v", err)
	}
	if o.Withdraw {
		r.withdrawn[o.ID]++
		r.reply(native.AppendResult(nil, native.ResultFrame{Kind: native.Offer, Ref: o.ID, Value: native.Withdrawn}))
	}
	return o.Withdraw, ""
}

func (r *clientRules) method(f native.Frame) string {
	m, err := native.ParseMethod(f)
	if err != nil || r.version < native.CallVersion {
		return fmt.Sprintf("a well-formed METHOD, in version 2: %v", err)
	}
	r.methods[m.Number] = m
	return ""
}

// call checks the frames of calls.
func (r *clientRules) call(f native.Frame) (counted bool, broken string) {
	if r.version < native.CallVersion {
		return false, "no frames of calls in version 1"
	}
	var err error
	switch f.Kind() {
	case native.Call:
		var c native.CallFrame
		if c, err = native.ParseCall(f); err != nil {
			break
		}
		if _, ok := r.methods[c.Method]; !ok || c.Call%2 == 0 {
			return false, "CALL with an odd number, and a method that METHOD has named"
		}
		err = native.CheckTLVs(c.Extension)
	case native.Reply:
		var v native.ReplyFrame
		if v, err = native.ParseReply(f); err == nil {
			err = native.CheckTLVs(v.Extension)
		}
	case native.Data:
		var v native.DataFrame
		if v, err = native.ParseData(f); err == nil {
			err = native.CheckTLVs(v.Extension)
		}
	case native.Cancel:
		_, err = native.ParseCancel(f)
	case native.CallCredit:
		var c native.CallCreditFrame
		if c, err = native.ParseCallCredit(f); err == nil {
			r.calls[c.Call] += int(c.Bytes)
			return true, ""
		}
	}
	if err != nil {
		return false, "a well-formed frame of a call: " + err.Error()
	}
	return false, ""
}

// acknowledged checks ACK and NAK. An ACK in progress is only counted.
func (r *clientRules) acknowledged(f native.Frame) (counted bool, broken string) {
	if r.version < native.StoredVersion {
		return false, "neither ACK nor NAK in version 1"
	}
	var sub uint32
	var err error
	if f.Kind() == native.Ack {
		var a native.AckFrame
		a, err = native.ParseAck(f)
		sub, counted = a.Sub, a.InProgress
	} else {
		var v native.NakFrame
		v, err = native.ParseNak(f)
		sub = v.Sub
	}
	switch {
	case err != nil:
		return false, "a well-formed ACK or NAK: " + err.Error()
	case r.subs[sub] == nil:
		return false, "ACK and NAK of a subscription"
	case counted:
		r.beats++
	}
	return counted, ""
}
