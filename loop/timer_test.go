package loop

import (
	"math/rand/v2"
	"testing"
	"time"
)

// clockTimer is a timer under test. It records when it was called, and counts the visits of the wheel.
type clockTimer struct {
	entry  wheelEntry
	at     uint64
	armed  bool
	fired  []uint64
	visits *int
}

func (t *clockTimer) nextDeadline() (uint64, bool) {
	if t.visits != nil {
		*t.visits++
	}
	return t.at, t.armed
}

func (t *clockTimer) expire(now uint64) {
	t.armed = false
	t.fired = append(t.fired, now)
}

// TestWheel sets, moves and stops timers at random, and advances the clock by steps of all sizes. Each timer expires once, at
// its tick.
func TestWheel(t *testing.T) {
	for _, begin := range []uint64{0, 1<<32 - 5000} { // an entry stores only 32 bits of its tick
		w := &wheel{now: begin}
		rng := rand.New(rand.NewPCG(1, begin))
		timers := make([]*clockTimer, 200)
		want := make([]uint64, len(timers))
		for i := range timers {
			timers[i] = &clockTimer{}
			timers[i].entry = wheelEntry{owner: timers[i], level: notInWheel}
		}
		reach := []int{3, 64, 70, 4096, 5000, 300_000}
		for round := range 3000 {
			for range 5 {
				i := rng.IntN(len(timers))
				x := timers[i]
				if rng.IntN(4) == 0 {
					x.armed = false
					continue
				}
				x.at, x.armed = w.now+1+uint64(rng.IntN(reach[rng.IntN(len(reach))])), true
				want[i] = x.at
				w.schedule(&x.entry, x.at)
			}
			armed := make([]bool, len(timers))
			for i, x := range timers {
				armed[i], x.fired = x.armed, nil
			}
			to := w.now + uint64(rng.IntN(reach[rng.IntN(len(reach))]))
			for w.advance(to, 1+rng.IntN(20)); w.behind; {
				w.advance(to, 1+rng.IntN(20))
			}
			for i, x := range timers {
				is := armed[i] && want[i] <= to
				if is && (len(x.fired) != 1 || x.fired[0] != want[i]) || !is && len(x.fired) > 0 {
					t.Fatalf("round %d: timer %d, armed %v, due at %d, went off at %v, now %d", round, i, armed[i], want[i], x.fired, to)
				}
			}
		}
	}
}

// TestWheelShare has thousands of timers in one slot. One call of advance visits only a share of them, those that stay included. Timers
// that are set between the calls, for the next ticks, expire too. Each expires once, at its tick.
func TestWheelShare(t *testing.T) {
	w := &wheel{now: 1}
	visits := 0
	var timers []*clockTimer
	set := func(at uint64) {
		x := &clockTimer{at: at, armed: true, visits: &visits}
		x.entry = wheelEntry{owner: x, level: notInWheel}
		timers = append(timers, x)
		w.schedule(&x.entry, at)
	}
	const due = 3 * 64 * 64 // the beginning of a slot of level 2, and of level 1
	for i := range 3000 {
		set(due + uint64(i%3)*70)
	}
	calls := 0
	for to := uint64(due); to < due+64*64; to += 70 {
		for w.advance(to, 50); w.behind; w.advance(to, 50) {
			if calls++; visits > 2*50 { // an entry whose timer expires is looked at twice
				t.Fatalf("one call made %d visits", visits)
			}
			visits = 0
			if calls < 40 {
				set(w.now + 1)
			}
		}
		visits = 0
	}
	if calls < 3000/50 {
		t.Errorf("%d calls expired 3000 timers, 50 at a time", calls)
	}
	for i, x := range timers {
		if len(x.fired) != 1 || x.fired[0] != x.at {
			t.Fatalf("timer %d, due at %d, went off at %v", i, x.at, x.fired)
		}
	}
}

// TestTimersShareTurns has many timers that are due together. The loop calls a share of them in each turn.
func TestTimersShareTurns(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		l := g.Loops()[0]
		const all = 10 * wheelShare
		inTurn := map[int64]int{}
		called, done := 0, make(chan struct{})
		l.do(func() {
			for range all {
				l.NewTimer(func() {
					inTurn[l.stats.Turns]++
					if called++; called == all {
						close(done)
					}
				}).Set(20 * time.Millisecond)
			}
		})
		wait(t, "the last timer", done)
		for turn, n := range inTurn {
			if n > wheelShare {
				t.Errorf("turn %d called %d timers, want at most %d", turn, n, wheelShare)
			}
		}
	})
}

// TestWheelSleepsLong checks that the wheel skips an empty stretch, and that a timer beyond the wheel's reach is not early.
func TestWheelSleepsLong(t *testing.T) {
	w := &wheel{}
	x := &clockTimer{at: 1<<31 - 1, armed: true}
	x.entry = wheelEntry{owner: x, level: notInWheel}
	w.schedule(&x.entry, x.at)
	steps := 0
	for len(x.fired) == 0 {
		ticks, ok := w.nextSlot()
		if !ok {
			t.Fatal("the timer was lost")
		}
		w.advance(w.now+ticks, wheelShare)
		if steps++; steps > 100 {
			t.Fatal("the wheel wakes for nothing")
		}
	}
	if x.fired[0] != x.at {
		t.Errorf("went off at %d, want %d", x.fired[0], x.at)
	}
	if _, ok := w.nextSlot(); ok {
		t.Error("something is left in the wheel")
	}
}

func TestTimersOfAConnection(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		type call struct {
			which int
			after time.Duration
		}
		calls := make(chan call, 10)
		to := listen(t, g, accept(func() *script {
			var began time.Time
			return &script{
				opened: func(c *Conn) {
					began = time.Now()
					c.SetTimer(0, 150*time.Millisecond)
					c.SetTimer(1, 30*time.Millisecond)
					c.SetTimer(2, 20*time.Millisecond)
					c.SetTimer(3, time.Hour)
					c.StopTimer(2)
					c.SetTimer(3, 70*time.Millisecond) // sooner than before
					c.SetTimer(1, 100*time.Millisecond)
				},
				timer: func(c *Conn, which int) {
					calls <- call{which, time.Since(began)}
					if which == 0 {
						c.Close()
					}
				},
				closed: func(*Conn, error) { close(calls) },
			}
		}))
		connect(t, to)
		for _, want := range []call{{3, 70 * time.Millisecond}, {1, 100 * time.Millisecond}, {0, 150 * time.Millisecond}} {
			// The loop reads its clock at the beginning of a turn. So a timer may seem early by the duration of the turn.
			got := wait(t, "a timer", calls)
			if got.which != want.which || got.after < want.after-10*time.Millisecond {
				t.Errorf("timer %d after %v, want timer %d after %v", got.which, got.after, want.which, want.after)
			}
		}
		if extra, ok := <-calls; ok {
			t.Errorf("timer %d went off once more", extra.which)
		}
	})
}

func TestTimersOfALoop(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		l := g.Loops()[0]
		order := make(chan string, 10)
		l.do(func() {
			last := l.NewTimer(func() { order <- "last" })
			var again *Timer
			count := 0
			again = l.NewTimer(func() {
				order <- "again"
				if count++; count < 3 {
					again.Set(0)
				} else {
					last.Set(0)
				}
			})
			again.Set(10 * time.Millisecond)
			stopped := l.NewTimer(func() { order <- "stopped" })
			stopped.Set(0)
			stopped.Stop()
		})
		for _, want := range []string{"again", "again", "again", "last"} {
			if got := wait(t, want, order); got != want {
				t.Errorf("%q went off, want %q", got, want)
			}
		}
	})
}

func TestMovingATimerAllocatesNothing(t *testing.T) {
	l := &Loop{}
	c := &Conn{loop: l}
	c.entry = wheelEntry{owner: c, level: notInWheel}
	if n := testing.AllocsPerRun(100, func() {
		l.now += time.Millisecond
		c.SetTimer(1, time.Minute)
		l.wheel.advance(uint64(l.now/tick), wheelShare)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMoveTimer(b *testing.B) {
	l := &Loop{}
	c := &Conn{loop: l}
	c.entry = wheelEntry{owner: c, level: notInWheel}
	for b.Loop() {
		c.SetTimer(1, time.Minute)
	}
}
