package mqtt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/ferry/internal/mqttmessage"
	"example.com/ferry/internal/topic"
)

// TestRetainedWalk compares what a walk finds with what topic.Match says of all messages, for random topics with few different levels, and
// checks that each step looks at no more messages than it may.
func TestRetainedWalk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	levels := []string{"a", "b", "", "a!", "$x", "a-", "B"}
	name := func(wild bool) string {
		var tag string
		for i := range 1 + random.IntN(4) {
			if i > 0 {
				tag += "/"
			}
			if wild && random.IntN(3) == 0 {
				tag += "+"
			} else {
				tag += levels[random.IntN(len(levels))]
			}
		}
		if wild && random.IntN(2) == 0 {
			tag += "/#"
		}
		return tag
	}
	store := &retainedStore{limit: usage{1000, 1 << 20}, owned: map[string]usage{}}
	for range 300 {
		if tag := name(false); topic.CheckTag(tag) == nil {
			payload := []byte("x")
			if random.IntN(4) == 0 {
				payload = nil // it removes
			}
			store.set(newRetained("i", tag, &mqttmessage.Entry{Known: true}, payload), 100)
		}
	}
	if len(store.list) < 50 || !slices.IsSortedFunc(store.list, func(a, b *retainedMessage) int { return compareTopics(a.tag, b.tag) }) {
		t.Fatalf("%d messages, want many, sorted", len(store.list))
	}
	late := newRetained("i", "late/a", &mqttmessage.Entry{Known: true}, []byte("x"))
	for range 500 {
		filter := name(true)
		if random.IntN(10) == 0 {
			filter = "#"
		}
		if topic.CheckFilter(filter) != nil {
			continue
		}
		w := &retainedWalk{sub: &sub{tags: filter}, until: store.change()}
		var want, got []string
		for _, m := range store.list {
			if topic.Match(filter, m.tag) && !hidden(filter, m.tag) {
				want = append(want, m.tag)
			}
		}
		store.set(late, 100) // after the walk began
		for steps := 0; ; steps++ {
			m, looks, ended := store.next(w, 3)
			if looks > 3 || steps > len(store.list) {
				t.Fatalf("%s: %d looks in step %d", filter, looks, steps)
			}
			if m != nil {
				got = append(got, m.tag)
			} else if ended {
				break
			}
		}
		store.set(&retainedMessage{tag: late.tag}, 100)
		late = newRetained("i", "late/a", &mqttmessage.Entry{Known: true}, []byte("x"))
		if !slices.Equal(got, want) {
			t.Fatalf("%s: got %q, want %q", filter, got, want)
		}
	}
}

// TestRetainedMemory: a topic of many levels takes as few pieces of memory as any other.
func TestRetainedMemory(t *testing.T) {
	store := &retainedStore{limit: usage{10_000, 16 << 20}, owned: map[string]usage{}}
	deep := make([]byte, 1000)
	for i := range deep {
		deep[i] = '/'
	}
	allocations := testing.AllocsPerRun(1, func() {
		for i := range 100 {
			store.set(newRetained("i", fmt.Sprintf("%d%s", i, deep), &mqttmessage.Entry{Known: true}, []byte("x")), 100)
		}
	})
	if most := 100 * 8.0; allocations > most {
		t.Errorf("%v allocations for 100 messages on topics of 1001 levels, want at most %v", allocations, most)
	}
}
