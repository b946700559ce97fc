package conformance

import (
	"fmt"

	"example.com/ferry/protocol/native"
)

// nodeRules checks what holds for each frame of a node, in all cases. run.mu guards its fields.
type nodeRules struct {
	greeted bool // WELCOME or GOAWAY has arrived
	left    bool // GOAWAY has arrived

	tags     map[uint32]string // announced, by number
	subs     map[uint32]*received
	selected uint32
	pubs     []delivered // not yet taken

	published map[uint32]int64 // credit for publishing, by tag number
	debt      map[uint32]int64 // bytes that CREDIT has not returned, by tag number
	methods   map[uint16]native.MethodFrame
	calls     map[uint32]int // CALLCREDIT received, by call
}

// received is a subscription of a client.
type received struct {
	window int64
	taken  map[uint32]int64 // bytes of the window that are in use, by tag number
}

// delivered is a message of the node.
type delivered struct {
	sub   uint32
	tag   string
	frame native.Frame
}

func newNodeRules() *nodeRules {
	return &nodeRules{
		tags: map[uint32]string{}, subs: map[uint32]*received{}, published: map[uint32]int64{}, debt: map[uint32]int64{},
		methods: map[uint16]native.MethodFrame{}, calls: map[uint32]int{},
	}
}

// arrived checks a frame.
func (r *nodeRules) arrived(f native.Frame) (counted bool, broken string) {
	kind := f.Kind()
	switch {
	case !r.greeted && kind != native.Welcome && kind != native.Goaway:
		return false, "WELCOME or GOAWAY is the first frame"
	case r.greeted && kind == native.Welcome:
		return false, "one WELCOME"
	case r.left:
		return false, "no frame behind GOAWAY"
	}
	r.greeted = true
	switch kind {
	case native.Goaway:
		g, err := native.ParseGoaway(f)
		r.left = err == nil && g.Code != native.CodeDraining
		return false, ruleOf("a well-formed GOAWAY", err)
	case native.Welcome, native.Ping, native.Result, native.Notice, native.Call, native.Data, native.Reply, native.Cancel:
		return false, ""
	case native.Tag:
		t, err := native.ParseTag(f)
		r.tags[t.Ref] = t.Name
		return true, ruleOf("a well-formed TAG", err)
	case native.Select:
		id, err := native.ParseNumber(f)
		r.selected = id
		return true, ruleOf("a well-formed SELECT", err)
	case native.Pub:
		return true, r.pub(f)
	case native.Credit:
		return true, r.credit(f)
	case native.Method:
		m, err := native.ParseMethod(f)
		r.methods[m.Number] = m
		return true, ruleOf("a well-formed METHOD", err)
	case native.CallCredit:
		v, err := native.ParseCallCredit(f)
		r.calls[v.Call] += int(v.Bytes)
		return true, ruleOf("a well-formed CALLCREDIT", err)
	}
	return false, "a kind that a node sends"
}

// ruleOf returns the rule that a malformed frame breaks.
func ruleOf(rule string, err error) string {
	if err == nil {
		return ""
	}
	return rule + ": " + err.Error()
}

// pub notes a message: it is for a subscription, its tag is known, and the subscription has credit.
func (r *nodeRules) pub(f native.Frame) string {
	s := r.subs[r.selected]
	if s == nil {
		return "SELECT of a subscription before PUB"
	}
	m := delivered{sub: r.selected, tag: r.tags[f.Tag()], frame: f}
	if f.Tag() == native.ByName {
		stored, err := native.ParseStored(f)
		if err != nil {
			return "a stored message with tag and sequence number: " + err.Error()
		}
		m.tag = string(stored.Tag)
	} else if m.tag == "" {
		return "TAG before the first PUB with its number"
	}
	if s.taken[f.Tag()] >= s.window {
		return fmt.Sprintf("no PUB without credit: subscription %d has a window of %d bytes, all in use", r.selected, s.window)
	}
	if f.Flags()&native.FlagForwarded != 0 {
		return "no flag 04 from a node"
	}
	s.taken[f.Tag()] += int64(len(f))
	r.pubs = append(r.pubs, m)
	return ""
}

// credit notes credit for publishing, which is never more than what was published.
func (r *nodeRules) credit(f native.Frame) string {
	v, err := native.ParseCredit(f)
	if err != nil {
		return "a well-formed CREDIT: " + err.Error()
	}
	if v.Sub != 0 {
		return "CREDIT of a node with subscription 0"
	}
	r.published[v.Tag] += int64(v.Bytes)
	if r.debt[v.Tag] -= int64(v.Bytes); r.debt[v.Tag] < 0 {
		return fmt.Sprintf("CREDIT for no more than was published on tag number %d: %d bytes too many", v.Tag, -r.debt[v.Tag])
	}
	return ""
}
