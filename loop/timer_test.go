package loop

import (
	"math/rand/v2"
	"testing"
	"time"
)

// clockTimer is a timer under test. It records when it was called.
type clockTimer struct {
	entry wheelEntry
	at    uint64
	armed bool
	fired []uint64
}

func (t *clockTimer) nextDeadline() (uint64, bool) { return t.at, t.armed }
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
			w.advance(to)
			for i, x := range timers {
				is := armed[i] && want[i] <= to
				if is && (len(x.fired) != 1 || x.fired[0] != want[i]) || !is && len(x.fired) > 0 {
					t.Fatalf("round %d: timer %d, armed %v, due at %d, went off at %v, now %d", round, i, armed[i], want[i], x.fired, to)
				}
			}
		}
	}
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
		w.advance(w.now + ticks)
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
			var again *Timer
			count := 0
			again = l.NewTimer(func() {
				order <- "again"
				if count++; count < 3 {
					again.Set(0)
				}
			})
			again.Set(10 * time.Millisecond)
			stopped := l.NewTimer(func() { order <- "stopped" })
			stopped.Set(0)
			stopped.Stop()
			l.NewTimer(func() { order <- "last" }).Set(200 * time.Millisecond)
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
	c.timers.entry = wheelEntry{owner: c, level: notInWheel}
	if n := testing.AllocsPerRun(100, func() {
		l.now += time.Millisecond
		c.SetTimer(1, time.Minute)
		l.wheel.advance(uint64(l.now / tick))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMoveTimer(b *testing.B) {
	l := &Loop{}
	c := &Conn{loop: l}
	c.timers.entry = wheelEntry{owner: c, level: notInWheel}
	for b.Loop() {
		c.SetTimer(1, time.Minute)
	}
}
