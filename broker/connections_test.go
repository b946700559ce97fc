package broker_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// TestFirstID checks the IDs of the first clients, also where they begin again at 1.
func TestFirstID(t *testing.T) {
	t.Parallel()
	for first, want := range map[ferry.SourceID][2]ferry.SourceID{0: {1, 2}, 1: {1, 2}, 41: {41, 42}, math.MaxUint32: {math.MaxUint32, 1}} {
		b, _ := jsonBroker(t, broker.Config{FirstID: first})
		l := localListener(b)
		one, _ := connectLocal(t, l, 1)
		two, _ := connectLocal(t, l, 1)
		if got := [2]ferry.SourceID{one.ID(), two.ID()}; got != want {
			t.Errorf("FirstID %d: clients %d, want %d", first, got, want)
		}
	}
}

// TestConnections checks what is told of clients, and that one of them can be disconnected.
func TestConnections(t *testing.T) {
	t.Parallel()
	b, _ := jsonBroker(t, broker.Config{})
	l := localListener(b)
	began := time.Now()
	first, _ := connectLocal(t, l, 1)
	second, h := connectLocal(t, l, 1)
	localTag(t, first, "a/b")
	localTag(t, first, "a/c")
	if _, err := second.Subscribe(broker.LocalSubConfig{Filter: "a/#"}); err != nil {
		t.Fatal(err)
	}
	all := b.Connections()
	if len(all) != 2 || all[0].ID >= all[1].ID {
		t.Fatalf("%+v, want two connections in the order of their IDs", all)
	}
	for i, c := range all {
		if c.Addr != "test" || c.Listener.String() != "127.0.0.1:80" || c.Client == "" || c.Client != c.Identity || c.Since.Before(began) || c.Since.After(time.Now()) {
			t.Errorf("connection %d: %+v", i, c)
		}
	}
	if all[0].Publishes != 2 || all[0].Subscriptions != 0 || all[1].Publishes != 0 || all[1].Subscriptions != 1 {
		t.Errorf("%+v, want a publisher of two tags and a subscriber", all)
	}
	if err := b.CloseConnection(all[1].ID); err != nil {
		t.Fatal(err)
	}
	h.await(t, "the client is told", func() bool { return len(h.closed) == 1 })
	var why *native.Error
	if !errors.As(h.closed[0], &why) || why.Code != native.CodeDraining || !errors.Is(h.closed[0], broker.ErrByOperator) {
		t.Errorf("the client was closed because of %v, want code draining", h.closed[0])
	}
	if left := b.Connections(); len(left) != 1 || left[0].ID != all[0].ID {
		t.Errorf("%+v, want the other client", left)
	}
	if err := b.CloseConnection(all[1].ID); !errors.Is(err, broker.ErrNoClient) {
		t.Errorf("again: %v, want %v", err, broker.ErrNoClient)
	}
}
