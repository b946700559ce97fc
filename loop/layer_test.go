package loop

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// through is an AcceptFunc that puts a layer before the handler.
func through[L Layer](layer func() L, h func() Handler) AcceptFunc {
	return func(c *Conn) Handler {
		c.SetLayer(layer(), func(*Conn) Handler { return h() })
		return &script{}
	}
}

// greet does the client's part of recordLayer's handshake.
func greet(t *testing.T, conn net.Conn, protocol string) {
	t.Helper()
	if _, err := conn.Write(appendRecord(nil, helloRecord, []byte(protocol))); err != nil {
		t.Fatal(err)
	}
	if kind, payload, err := readRecord(conn); err != nil || kind != helloRecord || string(payload) != protocol {
		t.Fatalf("hello answered by a record of kind %d, %q, %v", kind, payload, err)
	}
}

// TestModelThroughLayers runs TestModel's random conversations through layers. The same bytes must arrive on both sides,
// however the stream is cut.
func TestModelThroughLayers(t *testing.T) {
	kinds := []struct {
		name    string
		layer   func() Layer
		records bool
	}{
		{"identity", func() Layer { return &identityLayer{} }, false},
		{"records", func() Layer { return &recordLayer{} }, true},
		{"slow", func() Layer { return &slowLayer{} }, true},
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			for seed := range uint64(6) {
				rng := rand.New(rand.NewPCG(seed, 1))
				to := noise(seed, 1000+rng.IntN(200_000))
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
					at := listen(t, g, through(kind.layer, func() Handler {
						return &actor{rng: rand.New(rand.NewPCG(seed, 2)), steps: steps, said: said, done: done}
					}))
					conn := connect(t, at)
					wire := to
					if kind.records {
						greet(t, conn, "test")
						wire = appendRecords(nil, rand.New(rand.NewPCG(seed, 4)), to)
					}
					go func() {
						cut := rand.New(rand.NewPCG(seed, 3))
						for rest := wire; len(rest) > 0; {
							n := min(len(rest), 1+cut.IntN(10_000))
							if _, err := conn.Write(rest[:n]); err != nil {
								return
							}
							rest = rest[n:]
						}
						_ = conn.(*net.TCPConn).CloseWrite()
					}()
					read := io.ReadAll
					if kind.records {
						read = readRecords
					}
					answer, err := read(conn)
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
		})
	}
}

// TestLayerChoosesTheHandler: the protocol of the handshake decides which handler is used. Opened is called after the
// handshake.
func TestLayerChoosesTheHandler(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		events := make(chan string, 10)
		var closed atomic.Int64
		to := listen(t, g, func(c *Conn) Handler {
			layer := &recordLayer{closed: &closed}
			c.SetLayer(layer, func(c *Conn) Handler {
				if c.Layer() != layer {
					t.Error("Conn.Layer is not the layer that was set")
				}
				if layer.protocol == "none" {
					return nil
				}
				return &script{
					opened: func(c *Conn) { c.Write([]byte(layer.protocol)); events <- "opened " + layer.protocol },
					data:   func(_ *Conn, p []byte) int { events <- "data " + string(p); return len(p) },
				}
			})
			return &script{
				opened: func(*Conn) { t.Error("the handler of the handshake was opened") },
				closed: func(_ *Conn, err error) { events <- "closed" },
			}
		})
		for _, protocol := range []string{"h2", "http/1.1"} {
			conn := connect(t, to)
			// Data that arrives with the hello is delivered to the handler that the hello selects.
			hello := appendRecord(appendRecord(nil, helloRecord, []byte(protocol)), dataRecord, []byte("GET"))
			for _, b := range hello[:4] {
				if _, err := conn.Write([]byte{b}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond)
			}
			if _, err := conn.Write(hello[4:]); err != nil {
				t.Fatal(err)
			}
			if kind, _, err := readRecord(conn); kind != helloRecord || err != nil {
				t.Fatalf("kind %d, %v, want a hello", kind, err)
			}
			if kind, p, err := readRecord(conn); kind != dataRecord || string(p) != protocol || err != nil {
				t.Fatalf("kind %d, %q, %v, want what Opened wrote", kind, p, err)
			}
			for _, want := range []string{"opened " + protocol, "data GET"} {
				if got := wait(t, want, events); got != want {
					t.Errorf("%s: %q, want %q", protocol, got, want)
				}
			}
		}
		conn := connect(t, to)
		if _, err := conn.Write(appendRecord(nil, helloRecord, []byte("none"))); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("no handler: %v, want a reset", err)
		}
		if got := wait(t, "closed", events); got != "closed" {
			t.Errorf("no handler: %q, want closed", got)
		}
		if got := closed.Load(); got != 1 {
			t.Errorf("%d layers were closed, want 1", got)
		}
	})
}

func TestLayerHandshakeFails(t *testing.T) {
	rows := []struct {
		name  string
		sent  []byte
		end   bool   // the client ends its side after sending
		want  string // part of the error that Closed gets
		alert bool
	}{
		{"refused", appendRecord(nil, helloRecord, []byte("bad")), false, "loop: handshake: the peer's protocol is refused", true},
		{"not a hello", appendRecord(nil, dataRecord, []byte("bad")), false, "loop: handshake: the peer's protocol is refused", true},
		{"truncated", []byte{helloRecord, 0}, true, "loop: handshake: unexpected EOF", false},
		{"silent", nil, false, "loop: handshake: the layer was not ready in time", false},
	}
	both(t, func(t *testing.T, cfg Config) {
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				cfg := cfg
				if row.sent == nil {
					cfg.HandshakeTimeout = 20 * time.Millisecond
				}
				g := start(t, cfg)
				end := make(chan error, 1)
				var closed atomic.Int64
				to := listen(t, g, func(c *Conn) Handler {
					c.SetLayer(&recordLayer{accepts: func(string) bool { return false }, closed: &closed}, func(*Conn) Handler {
						t.Error("a handler was chosen")
						return nil
					})
					c.PauseReading() // does not stop a handshake
					return &script{
						opened: func(*Conn) { t.Error("Opened was called") },
						data:   func(_ *Conn, p []byte) int { t.Errorf("data: %q", p); return len(p) },
						closed: func(_ *Conn, err error) { end <- err },
					}
				})
				conn := connect(t, to)
				if _, err := conn.Write(row.sent); err != nil {
					t.Fatal(err)
				}
				if row.end {
					if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
						t.Fatal(err)
					}
				}
				if row.alert {
					if kind, _, err := readRecord(conn); kind != alertRecord || err != nil {
						t.Errorf("a record of kind %d, %v: want the alert", kind, err)
					}
				}
				if err := wait(t, "Closed", end); err == nil || !strings.Contains(err.Error(), row.want) {
					t.Errorf("Closed with %v, want %q", err, row.want)
				}
				if got := closed.Load(); got != 1 {
					t.Errorf("the layer was closed %d times", got)
				}
				if sum, _ := g.Stats(); sum.Conns != 0 || sum.Queues != 0 {
					t.Errorf("%+v: something is left", sum)
				}
			})
		}
	})
}

// TestLayerFailsLater: a stream without an end record is an error, and so is an invalid record.
func TestLayerFailsLater(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		end := make(chan error, 1)
		to := listen(t, g, through(func() Layer { return &recordLayer{} }, func() Handler {
			return &script{
				halfClosed: func(*Conn) { t.Error("HalfClosed was called") },
				closed:     func(_ *Conn, err error) { end <- err },
			}
		}))
		conn := connect(t, to)
		greet(t, conn, "a")
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := wait(t, "Closed", end); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a truncated stream: Closed with %v", err)
		}
		conn = connect(t, to)
		greet(t, conn, "a")
		if _, err := conn.Write(appendRecord(nil, 77, nil)); err != nil {
			t.Fatal(err)
		}
		if err := wait(t, "Closed", end); err == nil || !strings.Contains(err.Error(), "kind 77") {
			t.Errorf("a record of no known kind: Closed with %v", err)
		}
	})
}

// TestLayerBackpressure is TestSlowReader through a layer. The queues before and after the layer are bounded by the high water
// mark plus one turn. Drained resumes the sender.
func TestLayerBackpressure(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.HighWater, cfg.TurnBytes = 64<<10, 64<<10
		g := start(t, cfg)
		most := make(chan int, 1)
		to := listen(t, g, through(func() Layer { return &recordLayer{} }, func() Handler {
			h, largest := echo(), 0
			data := h.data
			h.data = func(c *Conn, p []byte) int {
				n := data(c, p)
				largest = max(largest, c.Queued())
				return n
			}
			h.closed = func(*Conn, error) { most <- largest }
			return h
		}))
		conn := connectSlow(t, to)
		greet(t, conn, "echo")
		want := noise(1, 16<<20)
		wire := appendRecords(nil, rand.New(rand.NewPCG(1, 1)), want)
		sent := make(chan error, 1)
		go func() {
			_, err := conn.Write(wire)
			if err == nil {
				err = conn.(*net.TCPConn).CloseWrite()
			}
			sent <- err
		}()
		last := int64(-1)
		eventually(t, "a standstill", func() bool {
			sum, _ := g.Stats()
			still := sum.BytesIn == last && sum.BytesIn > 0
			last = sum.BytesIn
			time.Sleep(50 * time.Millisecond)
			return still
		})
		if last >= int64(len(wire)) {
			t.Fatalf("all %d bytes were taken from a peer that reads nothing", last)
		}
		got, err := readRecords(conn)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("read %d bytes of %d, or others: %v", len(got), len(want), err)
		}
		if err := wait(t, "the end of sending", sent); err != nil {
			t.Fatal(err)
		}
		limit := cfg.HighWater + 64<<10 + maxRecord
		if got := wait(t, "the end", most); got > limit || got < cfg.HighWater {
			t.Errorf("%d bytes were queued at most, want from %d to %d", got, cfg.HighWater, limit)
		}
		sum, _ := g.Stats()
		if hello := int64(recordHead + len("echo")); sum.BytesIn != int64(len(wire))+hello || sum.BytesOut <= int64(len(want)) {
			t.Errorf("%d bytes in, want the %d of the wire; %d out, want more than %d", sum.BytesIn, int64(len(wire))+hello, sum.BytesOut, len(want))
		}
	})
}

// TestLayerHoldsPlainBytes: bytes inside the layer are delivered even if the socket is silent, also after a pause.
func TestLayerHoldsPlainBytes(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.ReadBuffer, cfg.TurnBytes = 512, 512
		g := start(t, cfg)
		got := make(chan int, 100)
		to := listen(t, g, through(func() Layer { return &recordLayer{} }, func() Handler {
			return &script{
				data: func(c *Conn, p []byte) int {
					c.PauseReading()
					c.SetTimer(0, 0)
					got <- len(p)
					return len(p)
				},
				timer: func(c *Conn, _ int) { c.ResumeReading() },
			}
		}))
		conn := connect(t, to)
		greet(t, conn, "a")
		if _, err := conn.Write(appendRecord(nil, dataRecord, make([]byte, maxRecord))); err != nil {
			t.Fatal(err)
		}
		for left := maxRecord; left > 0; {
			left -= wait(t, "the rest of a record", got)
		}
	})
}

// TestLayerOnBothSides dials through a layer. Bytes written before the layer is ready arrive. Both sides end in order. If the
// handshake is refused, Dial fails.
func TestLayerOnBothSides(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		for _, slow := range []bool{false, true} {
			layer := func(offer string) Layer {
				r := recordLayer{offer: offer, accepts: func(name string) bool { return name != "bad" }}
				if slow {
					return &slowLayer{recordLayer: r}
				}
				return &r
			}
			g := start(t, cfg)
			to := listen(t, g, through(func() Layer { return layer("") }, func() Handler { return echo() }))
			l := g.Loops()[0]
			want := noise(7, 300_000)
			got, end := make(chan []byte, 1), make(chan error, 1)
			var all []byte
			h := &script{
				opened: func(c *Conn) { c.CloseWrite() },
				data:   func(_ *Conn, p []byte) int { all = append(all, p...); return len(p) },
				closed: func(_ *Conn, err error) { got <- all; end <- err },
			}
			l.do(func() {
				c := l.Dial(to, patience, h)
				c.SetLayer(layer("echo"), nil)
				c.Write(want)
				if c.Queued() != len(want) || !c.Full() {
					t.Errorf("%d bytes are queued, full %v: want %d and true", c.Queued(), c.Full(), len(want))
				}
			})
			if got := wait(t, "the echo", got); !bytes.Equal(got, want) {
				t.Errorf("slow %v: %d bytes came back of %d, or others", slow, len(got), len(want))
			}
			if err := wait(t, "Closed", end); err != nil {
				t.Errorf("slow %v: Closed with %v", slow, err)
			}
			l.do(func() {
				c := l.Dial(to, patience, &script{
					opened: func(*Conn) { t.Error("Opened was called") },
					closed: func(_ *Conn, err error) { end <- err },
				})
				c.SetLayer(layer("bad"), nil)
			})
			if err := wait(t, "Closed", end); err == nil || !strings.Contains(err.Error(), "alert: refused") {
				t.Errorf("slow %v: Closed with %v, want the alert", slow, err)
			}
			// Closed before the layer is ready.
			var closed atomic.Int64
			l.do(func() {
				c := l.Dial(to, patience, &script{closed: func(_ *Conn, err error) { end <- err }})
				c.SetLayer(&recordLayer{offer: "x", closed: &closed}, nil)
				c.Close()
				c.SetTimer(0, 0)
			})
			if err := wait(t, "Closed", end); err != nil || closed.Load() != 1 {
				t.Errorf("Closed with %v, and the layer %d times", err, closed.Load())
			}
			eventually(t, "the end of all", func() bool { sum, _ := g.Stats(); return sum.Conns == 0 && sum.Queues == 0 })
		}
	})
}

// TestLayerAbortAndShutdown: a connection ends while its layer works on a goroutine. The layer then makes no call to the
// connection.
func TestLayerAbortAndShutdown(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		for _, end := range []func(c *Conn){func(c *Conn) { c.Abort(nil) }, (*Conn).Close, func(*Conn) {}} {
			g := start(t, cfg)
			var closed atomic.Int64
			handshaking := make(chan *Conn, 1)
			to := listen(t, g, func(c *Conn) Handler {
				c.SetLayer(&slowLayer{recordLayer: recordLayer{closed: &closed}}, func(*Conn) Handler { return echo() })
				handshaking <- c
				return &script{}
			})
			connect(t, to)
			c := wait(t, "the handshake", handshaking)
			c.Loop().do(func() { end(c) })
			if err := g.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if closed.Load() != 1 {
				t.Errorf("the layer was closed %d times", closed.Load())
			}
		}
	})
}

// endlessLayer never ends its side.
type endlessLayer struct{ identityLayer }

func (*endlessLayer) CloseWrite() error { return ErrAgain }

// TestCloseGivesUpOnALayer closes connections whose layer does not end its side, though the peer has taken every byte.
func TestCloseGivesUpOnALayer(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.CloseTimeout = 10 * time.Millisecond
		g := start(t, cfg)
		closed := make(chan error, 1)
		to := listen(t, g, through(func() *endlessLayer { return &endlessLayer{} }, func() Handler {
			return &script{
				opened: func(c *Conn) { c.Write([]byte("hi")); c.Close() },
				closed: func(_ *Conn, err error) { closed <- err },
			}
		}))
		connect(t, to)
		if err := wait(t, "Closed", closed); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Closed with %v", err)
		}
	})
}
