//go:build !race

package broker

import (
	"fmt"
	"testing"

	"example.com/ferry"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// TestManyRulesAllocateNothing: a run is routed to one of many rules without an allocation. The race
// detector empties pools at random.
func TestManyRulesAllocateNothing(t *testing.T) {
	r := newRulesRig(t)
	for i := range 100 {
		r.subscribe(t, "events/a", []string{"", "g"}[i%2], fmt.Sprintf(`device == "d%d"`, i/2))
	}
	run := native.AppendPub(nil, native.PubHeader{Type: ferry.JSON, Tag: r.tag.ID, Source: r.receiver.session.id}, []byte(`{"device":"d7"}`))
	p := r.receiver.session.publisher(r.tag.ID)
	rt := r.broker.routeOf(r.tag)
	r.receiver.ends[0] = len(run)
	route := func() {
		r.receiver.routeIndexed(rt, p, run, 1, nil)
		r.receiver.BatchEnds()
		r.subscriber.control.Lock()
		r.subscriber.control.Wire.Discard()
		r.subscriber.control.Release(nil)
	}
	route()
	if n := testing.AllocsPerRun(100, route); n > 0 && bufpool.Reuse {
		t.Errorf("%v allocations, want 0", n)
	}
}
