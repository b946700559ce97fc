package loop

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// step is one action of a connection, after it has received a number of bytes. A list of steps is a conversation. The
// conversation must be the same on every implementation, however the bytes are cut.
type step struct {
	after int // bytes received before the step
	write int // bytes to send
	pause bool
	half  bool // the step ends this side
	close bool
}

// conversation returns random steps of a connection that receives total bytes from its peer.
func conversation(rng *rand.Rand, total int) []step {
	var steps []step
	for at := 0; at < total; at += 1 + rng.IntN(total/3) {
		steps = append(steps, step{after: at, write: rng.IntN(40_000), pause: rng.IntN(3) == 0})
	}
	last := step{after: total, write: rng.IntN(300_000), half: rng.IntN(2) == 0}
	last.close = !last.half
	return append(steps, last)
}

// actor does the steps, records received bytes, and leaves some bytes unread now and then.
type actor struct {
	Base
	rng   *rand.Rand
	steps []step
	got   bytes.Buffer
	sent  int
	said  []byte
	done  chan []byte
}

func (a *actor) Opened(c *Conn) { a.act(c) }

func (a *actor) act(c *Conn) {
	for len(a.steps) > 0 && a.got.Len() >= a.steps[0].after {
		s := a.steps[0]
		a.steps = a.steps[1:]
		for n := s.write; n > 0; {
			k := min(n, 1+a.rng.IntN(9000))
			c.Write(a.said[a.sent : a.sent+k])
			a.sent += k
			n -= k
		}
		if s.pause {
			c.PauseReading()
			c.SetTimer(a.rng.IntN(Timers), time.Duration(a.rng.IntN(20))*time.Millisecond)
		}
		if s.half {
			c.CloseWrite()
		}
		if s.close {
			c.Close()
		}
	}
}

// Data consumes no byte beyond the next step, so that each step happens after its number of bytes.
func (a *actor) Data(c *Conn, p []byte) int {
	n := len(p)
	if len(a.steps) > 0 {
		n = min(n, a.steps[0].after-a.got.Len())
	}
	if n > 1 && a.rng.IntN(4) == 0 {
		n = 1 + a.rng.IntN(n)
	}
	a.got.Write(p[:n])
	a.act(c)
	if n < len(p) && a.rng.IntN(2) == 0 {
		c.PauseReading()
		c.SetTimer(0, 0)
	} else if n < len(p) {
		c.PauseReading()
		c.ResumeReading()
	}
	return n
}

func (a *actor) Timer(c *Conn, _ int) { c.ResumeReading() }
func (a *actor) HalfClosed(*Conn)     {}
func (a *actor) Closed(*Conn, error)  { a.done <- a.got.Bytes() }

// TestModel runs random conversations on both implementations. Both must receive and send the bytes of the conversation.
func TestModel(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		to := noise(seed, 1000+rng.IntN(400_000))
		steps := conversation(rng, len(to))
		from := 0
		for _, s := range steps {
			from += s.write
		}
		said := noise(seed+1000, from)
		both(t, func(t *testing.T, cfg Config) {
			cfg.Loops, cfg.ReadBuffer, cfg.TurnBytes, cfg.HighWater = 1, 5000, 20_000, 50_000
			g := start(t, cfg)
			done := make(chan []byte, 1)
			at := listen(t, g, func(*Conn) Handler {
				return &actor{rng: rand.New(rand.NewPCG(seed, 2)), steps: steps, said: said, done: done}
			})
			conn := connect(t, at)
			go func() {
				cut := rand.New(rand.NewPCG(seed, 3))
				for rest := to; len(rest) > 0; {
					n := min(len(rest), 1+cut.IntN(20_000))
					if _, err := conn.Write(rest[:n]); err != nil {
						return
					}
					rest = rest[n:]
				}
				_ = conn.(*net.TCPConn).CloseWrite()
			}()
			answer, err := io.ReadAll(conn)
			if err != nil || !bytes.Equal(answer, said) {
				t.Errorf("seed %d: received %d bytes of %d, or others: %v", seed, len(answer), len(said), err)
			}
			if got := wait(t, "Closed", done); !bytes.Equal(got, to) {
				t.Errorf("seed %d: sent %d bytes of %d, or others", seed, len(got), len(to))
			}
			if sum, _ := g.Stats(); sum.Conns != 0 || sum.Queues != 0 || sum.Unread != 0 {
				t.Errorf("seed %d: %+v: something is left", seed, sum)
			}
		})
	}
}
