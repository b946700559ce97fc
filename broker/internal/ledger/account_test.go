package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// client records what it is told.
type client struct {
	mu   sync.Mutex
	told []string
	wait time.Duration // of each second NoticeWait
	odd  bool
}

func (c *client) tell(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, fmt.Sprintf(format, args...))
}

func (c *client) Granted()         { c.tell("granted") }
func (c *client) Credit(bytes int) { c.tell("credit %d", bytes) }
func (c *client) Notice(n Notice)  { c.tell("notice %d", n.Count) }
func (c *client) NoticeWait() time.Duration {
	c.odd = !c.odd
	if c.odd {
		return c.wait
	}
	return 0
}

func (c *client) expect(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.told, want) {
		t.Errorf("the client was told %q, want %q", c.told, want)
	}
	c.told = nil
}

func newAccount() (*Account, *client) {
	a, c := &Account{}, &client{}
	a.Init(c, 100)
	return a, c
}

func open100(t *testing.T) (*Account, *client) {
	t.Helper()
	a, c := newAccount()
	a.Request()
	c.expect(t, "granted")
	return a, c
}

func TestRoutedReturnsInHalves(t *testing.T) {
	a, c := open100(t)
	for i, step := range []struct {
		n, last int
		ok      bool
		told    []string
	}{
		{n: 30, last: 30, ok: true},
		{n: 30, last: 10, ok: true, told: []string{"credit 60"}},
		{n: 200, last: 150, ok: true, told: []string{"credit 200"}},
		{n: 201, last: 101, ok: false},
	} {
		_, ok := a.Spend(step.n, step.last)
		if ok != step.ok {
			t.Errorf("step %d: Spend returns %v", i, ok)
		}
		if ok {
			a.Routed(step.n)
		}
		c.expect(t, step.told...)
	}
	if n := a.Available(); n != 100 {
		t.Errorf("%d bytes are available, want 100", n)
	}
}

// TestHolds: each reason withholds on its own, and the last one returns everything.
func TestHolds(t *testing.T) {
	a, c := newAccount()
	queue, disk := &Hold{}, &Hold{}
	queue.Add(a)
	queue.Add(a)
	disk.Add(a)
	a.Request()
	c.expect(t)
	queue.Release()
	queue.Release()
	queue.Add(a) // it has ended
	c.expect(t)
	disk.Release()
	c.expect(t, "granted")
	again := &Hold{}
	again.Add(a)
	a.Spend(60, 60)
	a.Routed(60)
	a.Enter(Run{Bytes: 10, Notice: Notice{Count: 1}})
	c.expect(t)
	queue.Release() // is late: again withholds
	c.expect(t)
	again.Release()
	c.expect(t, "notice 1", "credit 10", "credit 60")
}

// TestReleaseAfterLeave: what withheld the credit may end after the publisher has left. Runs that wait are settled and PINGs answered.
func TestReleaseAfterLeave(t *testing.T) {
	a, c := open100(t)
	confirmations := NewConfirmations(func(value uint64) { c.tell("pong %d", value) })
	full := &Hold{}
	full.Add(a)
	room := a.HoldFor("link")
	if a.HoldFor("link") != nil {
		t.Error("a second Hold for the same thing")
	}
	vacated := 0
	room.OnVacated(func() { vacated++ })
	a.Enter(Run{Lane: "stream", Count: 1, Bytes: 10, Confirmations: confirmations, Done: func(err error) { c.tell("done %v", err) }})
	if now, err := confirmations.Ping(7); now || err != nil {
		t.Fatalf("Ping returns %v, %v", now, err)
	}
	a.Leave()
	full.Release()
	room.Release()
	if full.Len() != 0 || vacated != 1 || a.HoldFor("link") != nil {
		t.Errorf("%d accounts are held, vacated was called %d times", full.Len(), vacated)
	}
	full.Add(a)
	c.expect(t)
	a.Stored("stream", Notice{}, nil)
	c.expect(t, "pong 7", "done <nil>")
	gone := (&Hold{}).Len()
	late := &Hold{of: "link"}
	late.OnVacated(func() { vacated++ })
	if gone != 0 || vacated != 2 {
		t.Errorf("OnVacated of a Hold without accounts was called %d times, want 2", vacated)
	}
}

// TestRunsKeepTheirOrder: runs of two lanes settle in the order of the messages, whichever stream is faster.
func TestRunsKeepTheirOrder(t *testing.T) {
	a, c := open100(t)
	for i, lane := range []string{"old", "new", "old"} {
		a.Enter(Run{Lane: lane, Count: 1, Bytes: i + 1})
	}
	a.Enter(Run{Bytes: 10})
	a.Enter(Run{Bytes: 10}) // joins the one before
	a.Stored("new", Notice{}, nil)
	c.expect(t)
	a.Stored("old", Notice{}, nil)
	c.expect(t, "credit 3")
	if !a.Waiting() {
		t.Error("nothing waits")
	}
	a.Stored("old", Notice{Count: 1}, nil)
	c.expect(t, "notice 1", "credit 3", "credit 20")
	a.Stored("old", Notice{}, nil) // of a run that Abandon has settled
	c.expect(t)
}

// TestAbandonAndLost: a stream that is gone settles its runs as dropped; an engine that was closed settles none, nor what is behind.
func TestAbandonAndLost(t *testing.T) {
	a, c := open100(t)
	a.Enter(Run{Lane: "gone", Count: 3, Bytes: 10})
	a.Enter(Run{Lane: "closed", Count: 1, Bytes: 10})
	a.Enter(Run{Lane: "gone", Count: 2, Bytes: 10})
	a.Abandon(func(lane any) bool { return lane == "gone" }, Notice{})
	c.expect(t, "notice 3", "credit 10")
	a.Lost("closed")
	c.expect(t)
	if !a.Waiting() {
		t.Error("nothing waits")
	}
}

func TestNoticesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c := open100(t)
		c.wait = time.Second
		a.Enter(Run{Bytes: 10, Notice: Notice{Count: 1}})
		a.Enter(Run{Lane: "stream", Count: 1, Bytes: 20})
		a.Stored("stream", Notice{}, nil)
		c.expect(t)
		time.Sleep(time.Second)
		synctest.Wait()
		c.expect(t, "notice 1", "credit 10", "credit 20")
	})
}

func TestConfirmationsAreBounded(t *testing.T) {
	c := NewConfirmations(func(uint64) {})
	if now, err := c.Ping(1); !now || err != nil {
		t.Fatalf("Ping returns %v, %v", now, err)
	}
	end := c.Await(func() {})
	for i := range uint64(maxWaitingPings) {
		if now, err := c.Ping(i); now || err != nil {
			t.Fatalf("PING %d: %v, %v", i, now, err)
		}
	}
	if _, err := c.Ping(0); err == nil {
		t.Error("too many PINGs wait")
	}
	end()
}

// TestNothingIsCreditedTwice: whatever overlaps, all credit returns once, and only what is settled.
func TestNothingIsCreditedTwice(t *testing.T) {
	a, c := &Account{}, &counting{}
	a.Init(c, 1000)
	a.Request()
	const n = 2000
	var order sync.Mutex
	stored := make(chan struct{}, n)
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			for range n / 2 {
				for {
					if _, ok := a.Spend(10, 10); ok {
						break
					}
					time.Sleep(time.Microsecond)
				}
				order.Lock()
				c.entered.Add(10)
				a.Enter(Run{Lane: "stream", Count: 1, Bytes: 10})
				order.Unlock()
				stored <- struct{}{}
			}
		})
	}
	work.Go(func() {
		for range n {
			<-stored
			c.settled.Add(10)
			a.Stored("stream", Notice{}, nil)
		}
	})
	ended := make(chan struct{})
	var holds sync.WaitGroup
	for range 2 {
		holds.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				h := &Hold{}
				h.Add(a)
				time.Sleep(time.Duration(rand.N(20)) * time.Microsecond)
				h.Release()
			}
		})
	}
	work.Wait()
	close(ended)
	holds.Wait()
	if got := c.credited.Load(); got != 10*n || c.wrong.Load() {
		t.Errorf("%d bytes returned, want %d; too early: %v", got, 10*n, c.wrong.Load())
	}
	if got := a.Available(); got != 1000 {
		t.Errorf("%d bytes are available, want 1000", got)
	}
}

// counting is a client that checks that no more returns than is settled.
type counting struct {
	entered, settled, credited atomic.Int64
	wrong                      atomic.Bool
}

func (c *counting) Granted()                  {}
func (c *counting) Notice(Notice)             {}
func (c *counting) NoticeWait() time.Duration { return 0 }
func (c *counting) Credit(bytes int) {
	if c.credited.Add(int64(bytes)) > c.settled.Load() {
		c.wrong.Store(true)
	}
}
