package waiters_test

import (
	"slices"
	"testing"

	"example.com/ferry/link/internal/waiters"
)

func TestDue(t *testing.T) {
	var w waiters.Waiters
	var called []string
	add := func(name string) func() { return func() { called = append(called, name) } }
	expect := func(safe uint64, room bool, want ...string) {
		t.Helper()
		called = nil
		for _, call := range w.Due(safe, room) {
			call()
		}
		if slices.Sort(called); !slices.Equal(called, want) {
			t.Errorf("Due(%d, %t) returned the calls %q, want %q", safe, room, called, want)
		}
	}
	if _, ok := w.Oldest(); ok {
		t.Error("there is an oldest call before Await")
	}
	expect(10, true)
	w.Await(5, add("5"))
	w.Await(5, add("5 again"))
	w.Await(8, add("8"))
	w.AwaitRoom(add("room"))
	remove := w.AwaitRoom(add("removed room"))
	remove()
	expect(4, false)
	first, ok := w.Oldest()
	if !ok {
		t.Error("there is no oldest call")
	}
	expect(7, false, "5", "5 again")
	if next, ok := w.Oldest(); !ok || next.Before(first) {
		t.Errorf("the oldest call is of %v, before %v", next, first)
	}
	expect(7, true, "room")
	expect(8, true, "8")
	remove()
	expect(9, true)
}
