package loop

import (
	"math"
	"testing"
	"time"
)

const day = 24 * time.Hour

// TestLongTimersAreNotEarly sets timers of every length, up to the longest time.Duration, and one timer of 20 ms. Only the
// timer of 20 ms may expire.
func TestLongTimersAreNotEarly(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		for _, d := range []time.Duration{day, 124 * day, 125 * day, 248 * day, 249 * day, 365 * day, 497 * day, 498 * day, 20_000 * day, math.MaxInt64} {
			g := start(t, cfg)
			fired := make(chan int, 10)
			to := listen(t, g, accept(func() *script {
				return &script{
					opened: func(c *Conn) {
						c.SetTimer(0, d)
						c.SetTimer(1, 20*time.Millisecond)
						c.Loop().NewTimer(func() { fired <- -1 }).Set(d)
					},
					timer: func(c *Conn, which int) {
						fired <- which
						c.Close()
					},
					closed: func(*Conn, error) { close(fired) },
				}
			}))
			connect(t, to)
			for which := range fired {
				if which != 1 {
					t.Errorf("timer %d went off, which was set to %v", which, d)
				}
			}
		}
	})
}

// TestLongTimersExpire runs the clock of a loop for 3000 days. A timer expires at its tick. A timer of more than 248 days
// expires at most one coarse unit later.
func TestLongTimersExpire(t *testing.T) {
	for _, begin := range []time.Duration{0, 123 * time.Hour, 600 * day} {
		for _, d := range []time.Duration{
			time.Second, day, 124 * day, 248 * day, nearTicks * tick, nearTicks*tick + 1, 249 * day, 497 * day, 2000 * day,
		} {
			l := &Loop{now: begin}
			l.wheel.advance(uint64(begin/tick), wheelShare)
			h := &script{}
			c := &Conn{loop: l, handler: h}
			c.entry = wheelEntry{owner: c, level: notInWheel}
			var fired time.Duration
			h.timer = func(*Conn, int) { fired = time.Duration(l.wheel.now) * tick }
			c.SetTimer(2, d)
			steps := 0
			for fired == 0 {
				ticks, ok := l.wheel.nextSlot()
				if !ok {
					t.Fatalf("a timer of %v was lost", d)
				}
				l.wheel.advance(l.wheel.now+ticks, wheelShare)
				if steps++; steps > 100 {
					t.Fatalf("the wheel looks at a timer of %v more than 100 times", d)
				}
			}
			late := tick
			if d > nearTicks*tick {
				late += tick << farBits
			}
			if fired < begin+d || fired > begin+d+late {
				t.Errorf("a timer of %v, set at %v, went off at %v", d, begin, fired)
			}
		}
	}
	l := &Loop{now: 1 << 62}
	if got, want := l.tickAfter(math.MaxInt64), uint64(1<<62+math.MaxInt64)/uint64(tick); got < want {
		t.Errorf("the longest duration ends at tick %d, want %d", got, want)
	}
}
