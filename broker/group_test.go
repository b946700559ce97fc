package broker_test

import (
	"fmt"
	"testing"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// event returns {"v": v} in CBOR. v is less than 24.
func event(v byte) []byte { return []byte{0xa1, 0x61, 'v', v} }

// settled waits until the broker has routed what p sent, and returns the results that arrive before that.
func (p *peer) settled() (results []native.ResultFrame) {
	p.t.Helper()
	p.write(native.AppendPing(nil, false, 77))
	for {
		f := p.read()
		if f == nil {
			p.t.Fatal("the connection ended before a PING was answered")
		}
		switch f.Kind() {
		case native.Ping:
			return results
		case native.Result:
			results = append(results, p.parseResult(f))
		}
	}
}

func (p *peer) parseResult(f native.Frame) native.ResultFrame {
	p.t.Helper()
	v, err := native.ParseResult(f)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *peer) unsubscribe(id uint32) {
	p.t.Helper()
	p.write(native.AppendUnsub(nil, id))
	p.settled()
}

// TestLeavingMembersKeepTheBound: members of a group join and leave while another member does not read. The messages of
// a leaving member are queued for the others within their bound, with every policy.
func TestLeavingMembersKeepTheBound(t *testing.T) {
	const queue = 20 << 10
	for _, policy := range []native.Policy{native.Block, native.DropOldest, native.DropNewest} {
		t.Run(policy.String(), func(t *testing.T) {
			h, addr := serve(t, broker.Config{Window: 10 << 10, Queue: queue})
			stays, leaves, src := greet(t, addr), greet(t, addr), greet(t, addr)
			stays.subscribe(native.SubFrame{ID: 1, Window: 1, Policy: policy, Filter: "jobs", Group: "g"})
			tag := src.tag("jobs")
			credit := 10 << 10
			frame := src.pub(tag, make([]byte, 1000))
			for range 20 {
				leaves.subscribe(native.SubFrame{ID: 2, Window: 1, Policy: policy, Filter: "jobs", Group: "g"})
				for range 30 {
					src.write(native.AppendPing(nil, false, 77))
					for answered := false; !answered; {
						f := src.read()
						switch f.Kind() {
						case native.Credit:
							v, _ := native.ParseCredit(f)
							credit += int(v.Bytes)
						case native.Ping:
							answered = true
						}
					}
					for ; credit > 0; credit -= len(frame) {
						src.write(frame)
					}
				}
				leaves.unsubscribe(2)
			}
			// One window on top: what a publisher had credit for when the queue became full.
			for _, s := range h.Snapshot().Subscriptions {
				if s.QueuedBytes > queue+11<<10 {
					t.Errorf("%d bytes are queued for a subscription with a bound of %d", s.QueuedBytes, queue)
				}
			}
		})
	}
}

// TestLeavingMembersKeepThePredicate: the queued messages of a leaving member are sent only to members whose predicate
// is true for them.
func TestLeavingMembersKeepThePredicate(t *testing.T) {
	h, addr := serve(t, broker.Config{})
	high, all, src := greet(t, addr), greet(t, addr), greet(t, addr)
	all.subscribe(native.SubFrame{ID: 1, Window: 1, Filter: "jobs", Group: "g"})
	tag := src.tag("jobs")
	const n = 20
	for v := range byte(n) {
		src.write(native.AppendPub(nil, native.PubHeader{Type: ferry.CBOR, Tag: tag, Source: src.id}, event(v)))
	}
	src.settled()
	high.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "jobs", Group: "g", Where: "v >= 15"})
	all.unsubscribe(1) // v = 0 was sent to it, the others wait in its queue
	src.write(native.AppendPub(nil, native.PubHeader{Type: ferry.CBOR, Tag: tag, Source: src.id}, event(23)))
	got := ""
	for {
		f := high.read()
		if f.Kind() != native.Pub {
			continue
		}
		v := f.Payload()[3]
		if v == 23 {
			break
		}
		got += fmt.Sprint(v, " ")
	}
	if want := "15 16 17 18 19 "; got != want {
		t.Errorf("the member with a predicate got %q, want %q", got, want)
	}
	if gone := h.Snapshot().Dropped["subscriber_gone"]; gone != 14 {
		t.Errorf("%d messages are counted as dropped with their subscriber, want 14", gone)
	}
}

// TestAddressedMessagesStayPrivate: messages addressed to a client that leaves are not sent to other members of its
// group.
func TestAddressedMessagesStayPrivate(t *testing.T) {
	h, addr := serve(t, broker.Config{})
	asks, other, src := greet(t, addr), greet(t, addr), greet(t, addr)
	asks.subscribe(native.SubFrame{ID: 1, Window: 1, Addressed: true, Filter: "reply", Group: "g"})
	other.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "reply", Group: "g"})
	tag := src.tag("reply")
	for range 3 {
		src.write(native.AppendPub(nil, native.PubHeader{Flags: native.FlagAddressed, Tag: tag, Source: asks.id}, []byte("private")))
	}
	src.settled()
	asks.unsubscribe(1)
	src.write(src.pub(tag, []byte("public")))
	for {
		if f := other.read(); f.Kind() == native.Pub {
			if string(f.Payload()) != "public" {
				t.Errorf("a group member got %q, which was addressed to another client", f.Payload())
			}
			break
		}
	}
	if gone := h.Snapshot().Dropped["subscriber_gone"]; gone != 2 {
		t.Errorf("%d messages are counted as dropped with their subscriber, want 2", gone)
	}
}
