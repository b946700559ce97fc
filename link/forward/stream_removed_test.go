package forward_test

import (
	"fmt"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
)

// TestStreamIsRemovedAtTheOtherNode: the other node stores the tag, until a reload removes its stream. The link goes on: nothing that is
// published later is lost or refused.
func TestStreamIsRemovedAtTheOtherNode(t *testing.T) {
	net := newNetwork(t)
	e := memory.New()
	t.Cleanup(func() { _ = e.Close(t.Context()) })
	cfg := engine.Config{Name: "orders", Tags: []string{"orders/#"}, InMemory: true}
	s, err := e.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	a, b := net.node("a", nil), net.node("b", func(c *broker.Config) {
		c.Stored = []broker.Stored{{Stream: s, Config: cfg, AtLeastOnce: true}}
	})
	link := a.link("b", nil)
	received := b.record()
	c := a.client()
	publish(t, c, "orders/1", 0, 100)
	eventually(t, "100 messages are stored", func() bool {
		info, err := s.Info(t.Context())
		return err == nil && info.Records == 100
	})
	set, err := b.broker.PrepareStreams(nil)
	if err != nil {
		t.Fatal(err)
	}
	set()
	publish(t, c, "orders/1", 100, 300)
	got := map[string]bool{}
	for _, m := range received.await(300) {
		got[m] = true
	}
	for i := range 300 {
		if want := fmt.Sprintf(`orders/1 {"v":%d}`, i); !got[want] {
			t.Errorf("%s is lost", want)
		}
	}
	if st := link.Stats(); st.Refused != 0 || len(st.Dropped) != 0 {
		t.Errorf("refused %d, dropped %v", st.Refused, st.Dropped)
	}
}
