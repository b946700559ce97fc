package balance_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/ferry/internal/balance"
)

// TestDrained checks that a drained endpoint gets no request, whatever the policy, that those in flight end, and that there is none if all
// are drained.
func TestDrained(t *testing.T) {
	t.Parallel()
	for _, policy := range all {
		s := several(3, balance.Config{Policy: policy, Outlier: &balance.Outlier{Failures: 1, EjectionTime: time.Minute, MaxEjected: 100}})
		list := s.All()
		inFlight := pick(t, s, 0, 0, nil)
		inFlight.SetDrained(true)
		for range 300 {
			e := pick(t, s, rand.Uint64(), 0, nil)
			if e == inFlight {
				t.Fatalf("%s: a drained endpoint was chosen", policy)
			}
			e.Done(balance.Success, balance.OwnRequest, time.Millisecond, 0)
		}
		if st := inFlight.Stats(0); !st.Drained || st.Active != 1 || s.Available() != 2 {
			t.Errorf("%s: %+v, %d available, want one request in flight at the drained endpoint, and two others", policy, st, s.Available())
		}
		inFlight.Done(balance.Success, balance.OwnRequest, time.Millisecond, 0)
		for _, e := range list {
			e.SetDrained(true)
		}
		if _, err := s.Pick(0, 0, nil); !errors.Is(err, balance.ErrNoEndpoint) || s.Available() != 0 {
			t.Errorf("%s: %v with %d available, want %v", policy, err, s.Available(), balance.ErrNoEndpoint)
		}
		inFlight.SetDrained(false)
		if e := pick(t, s, 0, 0, nil); e != inFlight {
			t.Errorf("%s: another endpoint than the only one that is not drained was chosen", policy)
		}
	}
}

// TestDrainedStaysWithHealth checks that draining and health checks do not undo each other.
func TestDrainedStaysWithHealth(t *testing.T) {
	t.Parallel()
	s := several(1, balance.Config{})
	e := s.All()[0]
	e.SetDrained(true)
	s.SetDown(e, true)
	s.SetDown(e, false)
	if s.Available() != 0 {
		t.Error("the end of an outage has undone the draining")
	}
	s.SetDown(e, true)
	e.SetDrained(false)
	if s.Available() != 0 {
		t.Error("an endpoint that is down gets requests")
	}
}

// TestSetWeight checks that a weight of an operator holds over those of the configuration, until it is taken back.
func TestSetWeight(t *testing.T) {
	t.Parallel()
	s := weighted(balance.Config{Policy: balance.RoundRobin}, 1, 1)
	list := s.All()
	list[0].SetWeight(3)
	expect := func(want int) {
		t.Helper()
		got := 0
		for range 400 {
			e := pick(t, s, rand.Uint64(), 0, nil)
			if e == list[0] {
				got++
			}
			e.Done(balance.Success, balance.OwnRequest, 0, 0)
		}
		if got < want-5 || got > want+5 {
			t.Errorf("%d of 400 requests, want about %d", got, want)
		}
	}
	expect(300)
	list[0].SetShare(2, 0) // as a lookup does
	s.Replace(list)
	expect(300)
	if st := list[0].Stats(0); st.Weight != 3 || st.Configured != 2 {
		t.Errorf("weight %d, configured %d, want 3 and 2", st.Weight, st.Configured)
	}
	list[0].SetWeight(0)
	expect(267)
}
