package clientload

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// countingClient is a Client that calls a function with the number of the request.
type countingClient struct {
	do func(n int) (int, error)
	n  int
}

func (c *countingClient) Do(context.Context, string) (int, error) {
	c.n++
	return c.do(c.n)
}

func (c *countingClient) Close() {}

func one(do func(n int) (int, error)) func(context.Context, int) (Client, error) {
	return func(context.Context, int) (Client, error) { return &countingClient{do: do}, nil }
}

// TestLoad: failures, repetitions and the longest gap are counted.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Kind{Name: "k", Clients: 1, Pause: time.Second, Connect: one(func(n int) (int, error) {
			switch n {
			case 3:
				return 0, errors.New("refused")
			case 5:
				time.Sleep(7 * time.Second)
				return 2, nil
			}
			return 0, nil
		})})
		if err := l.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20*time.Second + time.Millisecond)
		if n, first := l.Failed(); n != 1 || first != "refused" {
			t.Errorf("%d failures, the first %q, want 1: refused", n, first)
		}
		r := l.Stop()
		if r.Failures != 1 || r.Again != 2 || r.Gap != 8*time.Second || r.Latency.Max() != 7*time.Second || int64(r.Requests) != l.Completed() {
			t.Errorf("got %v", &r)
		}
		if r.Clean() || !strings.Contains(r.String(), "1 failed, 2 sent again") || !strings.Contains(r.String(), "refused") {
			t.Errorf("got %v, want a report with the failure", &r)
		}
	})
}

// TestMessagesLost: a message that is acknowledged and does not arrive is lost. One that arrives late, or before its acknowledgement, is not.
func TestMessagesLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMessages(true)
		m.arrive("early")
		for _, id := range []string{"early", "late", "lost", "in time"} {
			m.acknowledge(id)
		}
		m.arrive("in time")
		m.arrive("in time")
		time.AfterFunc(settleTime/2, func() { m.arrive("late") })
		m.leave() // changes nothing for what is stored
		m.acknowledge("lost too")
		m.back()
		var r Report
		if m.settle(&r); r.Acknowledged != 5 || r.Lost != 2 || r.Repeated != 1 || r.Unheard != 0 {
			t.Errorf("got %+v, want 5 acknowledged, 2 lost, 1 repeated", r)
		}
	})
}

// TestMessagesUnheard: a message that is not stored, and is acknowledged while the subscriber is away, is not lost. One that was acknowledged
// before or afterwards is.
func TestMessagesUnheard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMessages(false)
		m.acknowledge("before")
		m.leave()
		m.acknowledge("meanwhile")
		m.acknowledge("late")
		time.AfterFunc(time.Second, func() {
			for _, id := range []string{"a", "b", "late"} {
				m.arrive(id)
			}
		})
		m.back()
		m.acknowledge("afterwards")
		var r Report
		if m.settle(&r); r.Acknowledged != 4 || r.Lost != 2 || r.Unheard != 1 {
			t.Errorf("got %+v, want 4 acknowledged, 2 lost, 1 unheard", r)
		}
	})
}

// TestLoadStartFails: Stop is right after a Start that failed.
func TestLoadStartFails(t *testing.T) {
	l := New(Kind{Name: "k", Connect: func(context.Context, int) (Client, error) { return nil, errors.New("no route") }})
	if err := l.Start(t.Context()); err == nil || err.Error() != "clientload: k: no route" {
		t.Errorf("got %v", err)
	}
	if r := l.Stop(); r.Clean() {
		t.Error("a report without requests is clean")
	}
}
