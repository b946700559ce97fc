package broker

import (
	"fmt"
	"slices"
	"testing"

	"example.com/ferry/protocol/native"
)

// tagsInUse has the receiver's session publish on n tags.
func (r *rulesRig) tagsInUse(t testing.TB, n int) {
	t.Helper()
	r.broker.mu.Lock()
	r.broker.tags.limit = max(r.broker.tags.limit, 2*n)
	r.broker.mu.Unlock()
	for i := range n {
		if _, err := r.receiver.session.publisherOf(fmt.Sprintf("building/%d/floor/%d/sensor", i%100, i)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSubscribeWithManyTags: with many tags in use, whether few or all of them match, SUB and UNSUB route the next message as they say.
func TestSubscribeWithManyTags(t *testing.T) {
	r := newRulesRig(t)
	r.tagsInUse(t, 60000)
	for _, filter := range []string{"building/7/floor/7/#", "events/+", "#", "+/a", "building/+/floor/x/#"} {
		matches := slices.Contains([]string{"events/+", "#", "+/a"}, filter)
		for range 3 {
			sub := r.subscribe(t, filter, "", "")
			r.publish(t, "{}")
			if got := received(sub); got == 1 != matches {
				t.Fatalf("a subscription to %q got %d messages of events/a", filter, got)
			}
			r.subscriber.unsubscribe(sub.ID, true)
			before := len(r.broker.routeOf(r.tag).ungrouped)
			r.publish(t, "{}")
			if before != 0 {
				t.Fatalf("after UNSUB of %q the route has %d targets", filter, before)
			}
		}
	}
}

// BenchmarkSubscribe measures SUB and UNSUB with 60,000 tags in use and 10,000 other subscriptions.
func BenchmarkSubscribe(b *testing.B) {
	for _, filter := range []string{"building/7/floor/7/#", "building/+/floor/x/#", "rules/77", "#"} {
		b.Run(filter, func(b *testing.B) {
			r := newRulesRig(b)
			r.tagsInUse(b, 60000)
			for i := range 10000 {
				r.subscribe(b, fmt.Sprintf("rules/%d", i%100), "", fmt.Sprintf("v > %d", i))
			}
			id := uint32(1 << 20)
			for b.Loop() {
				id++
				if err := r.subscriber.subscribe(native.SubFrame{ID: id, Window: 1, Filter: filter, Where: "v > 7"}, nil); err != nil {
					b.Fatal(err)
				}
				r.subscriber.unsubscribe(id, true)
			}
		})
	}
}
