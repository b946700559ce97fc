package mqtt

import (
	"math/bits"
	"testing"
	"unsafe"
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
