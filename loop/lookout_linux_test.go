package loop

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestBusyLoopLooksOut checks when a loop makes another thread wait in the runtime's poller: once after each sleep, if it is busy. A loop
// that handles an event and sleeps again does not.
func TestBusyLoopLooksOut(t *testing.T) {
	s, err := newSockets(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	e := s.(*epoll)
	var ends [][2]int
	for range busyEvents {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
		if err := e.watch(int32(fds[0]), 1, false); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, fds)
	}
	send := func(n int) {
		for _, fds := range ends[:n] {
			if _, err := unix.Write(fds[1], []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	events := make([]event, eventBatch)
	sleep := func(n int) {
		t.Helper()
		send(n)
		if got, err := e.wait(events, -1); got != n || err != nil {
			t.Fatalf("%d events, %v; want %d", got, err, n)
		}
	}
	poll := func(n int) {
		t.Helper()
		send(n)
		if got, err := e.wait(events, 0); got != n || err != nil {
			t.Fatalf("%d events, %v; want %d", got, err, n)
		}
	}
	for _, step := range []struct {
		name  string
		do    func()
		calls int
	}{
		{"before the first sleep", func() { poll(3) }, 0},
		{"one event, then sleep", func() { sleep(1); poll(0); sleep(1) }, 0},
		{"a second turn", func() { poll(1) }, 1},
		{"a third turn", func() { poll(busyEvents) }, 0},
		{"many events at once", func() { sleep(busyEvents) }, 1},
		{"and more", func() { poll(1) }, 0},
	} {
		before := e.lookouts
		step.do()
		if got := e.lookouts - before; got != step.calls {
			t.Errorf("%s: %d calls, want %d", step.name, got, step.calls)
		}
	}
}
