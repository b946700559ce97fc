package mqtt

import (
	"math/bits"
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"
)

// TestSizes: what an idle client has does not grow into the next size of Go's allocator unnoticed. What few clients need belongs below a
// pointer, such as session.exchange and conn.topics.
func TestSizes(t *testing.T) {
	if bits.UintSize != 64 {
		return // the sizes are those of 64-bit platforms
	}
	for name, row := range map[string]struct{ size, most uintptr }{
		"session": {unsafe.Sizeof(session{}), 128},
		"conn":    {unsafe.Sizeof(conn{}), 80},
		"local":   {unsafe.Sizeof(local{}), 32},
		"sub":     {unsafe.Sizeof(sub{}), 160},
	} {
		if row.size > row.most {
			t.Errorf("%s has %d bytes, want at most %d", name, row.size, row.most)
		}
	}
}

// TestExchangeEnds: of a subscription that has got its retained messages nothing is left in the exchange, which the session then gives up. With a message
// on its way it does not.
func TestExchangeEnds(t *testing.T) {
	s := newSession(&Server{}, sessionKey("i", "c"), "i", 1)
	s.walkRetained(&sub{tags: "a"})
	if s.unused() {
		t.Error("the walk has not ended, and the exchange is unused")
	}
	if s.sendRetained() || !s.unused() {
		t.Errorf("the walk has ended, and the exchange is %+v", *s.exchange)
	}
	s.flights.add()
	if s.unused() {
		t.Error("a message is on its way, and the exchange is unused")
	}
}

// TestEndedSubscriptions: whichever subscription of a session ends, the others are there. One that is kept for a flight keeps no other one alive.
func TestEndedSubscriptions(t *testing.T) {
	s := newSession(&Server{}, sessionKey("i", "c"), "i", 1)
	kept := &sub{filter: "kept"}
	others := map[string]weak.Pointer[sub]{}
	for _, filter := range []string{"oldest", "older", "kept", "newer", "newest"} {
		x := kept
		if filter != "kept" {
			x = &sub{filter: filter}
			others[filter] = weak.Make(x)
		}
		s.addSub(x)
	}
	left := "newest newer kept older oldest "
	for _, ends := range []string{"newer", "kept", "oldest", "newest", "older"} {
		s.removeSub(s.find(ends))
		left = strings.Replace(left, ends+" ", "", 1)
		got := ""
		for x := s.subs; x != nil; x = x.next {
			got += x.filter + " "
		}
		if got != left {
			t.Errorf("behind the end of %s: %q are left, want %q", ends, got, left)
		}
	}
	runtime.GC()
	for filter, x := range others {
		if x.Value() != nil {
			t.Errorf("%s has ended, and is still there", filter)
		}
	}
	runtime.KeepAlive(kept)
}

// TestRetainedAfterDisconnect: a subscription that was getting retained messages as its connection ended gets them when it is made again on the next one.
func TestRetainedAfterDisconnect(t *testing.T) {
	s := newSession(&Server{}, sessionKey("i", "c"), "i", 1)
	x := &sub{tags: "a"}
	s.walkRetained(x)
	s.disconnect(true)
	s.walkRetained(x)
	if len(s.retained) != 1 {
		t.Errorf("%d subscriptions get retained messages, want 1", len(s.retained))
	}
}
