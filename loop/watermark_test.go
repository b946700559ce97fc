package loop

import (
	"io"
	"testing"
	"time"
)

// TestSetWatermarks: a lower watermark makes a queue full earlier, and its Drained comes at the low one.
func TestSetWatermarks(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops, cfg.HighWater, cfg.LowWater = 1, 1<<20, 1<<18
		g := start(t, cfg)
		l := g.Loops()[0]
		conns := make(chan *Conn, 1)
		drained := make(chan int, 1)
		to := listen(t, g, func(*Conn) Handler {
			return &script{opened: func(c *Conn) { conns <- c }, drained: func(c *Conn) { drained <- c.Queued() }}
		})
		client := connect(t, to)
		c := wait(t, "a connection", conns)
		var before, after, low, back bool
		l.do(func() {
			c.Write(make([]byte, 50_000)) // stays in the queue until the end of the turn
			before = c.Full()
			l.SetWatermarks(60_000, 10_000)
			low = c.Full()
			c.Write(make([]byte, 10_000))
			after = c.Full()
		})
		if before || low || !after {
			t.Errorf("full is %v before, %v with a lower watermark, %v after more was written", before, low, after)
		}
		if _, err := io.ReadFull(client, make([]byte, 60_000)); err != nil {
			t.Fatal(err)
		}
		if n := wait(t, "Drained", drained); n > 10_000 {
			t.Errorf("Drained with %d bytes queued", n)
		}
		l.do(func() {
			l.SetWatermarks(0, 0)
			c.Write(make([]byte, 60_000))
			back = c.Full()
		})
		if back || l.cfg.HighWater != 1<<20 || l.cfg.LowWater != 1<<18 {
			t.Errorf("full is %v, watermarks %d and %d after they were set back", back, l.cfg.HighWater, l.cfg.LowWater)
		}
	})
}

// TestTimerDeadline: a timer's deadline is not before its time, and at most a tick after it.
func TestTimerDeadline(t *testing.T) {
	g := start(t, Config{Loops: 1})
	l := g.Loops()[0]
	l.do(func() {
		c := l.Dial(loopback, 0, Base{})
		if at, set := c.TimerDeadline(2); set {
			t.Errorf("a timer that is not set expires at %v", at)
		}
		for _, d := range []time.Duration{0, time.Millisecond, time.Second, 300 * 24 * time.Hour, 1<<63 - 1} {
			c.SetTimer(2, d)
			at, set := c.TimerDeadline(2)
			early := at < l.now+d && l.now+d > 0
			if late := at-l.now-d > 12*time.Minute; !set || early || late {
				t.Errorf("after %v: set is %v, expires at %v, now is %v", d, set, at, l.now)
			}
		}
		c.StopTimer(2)
		if _, set := c.TimerDeadline(2); set {
			t.Error("a stopped timer is set")
		}
		c.Abort(nil)
	})
}
