package tlslayer

import (
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/loop"
)

// goroutines returns how many goroutines run handshakes.
func goroutines() int {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return strings.Count(string(buf[:n]), "created by example.com/ferry/loop/tlslayer.")
		}
		buf = make([]byte, 2*len(buf))
	}
}

// TestSilentClients: clients that send nothing, or an incomplete ClientHello, have no goroutine.
func TestSilentClients(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	both(t, func(t *testing.T, cfg *loop.Config) {
		r := newRig(t, cfg, nil, server)
		hello := recordedHello(t, client)
		const clients = 200
		for i := range clients {
			_, _ = r.dial(t).Write(hello[:min(i*10, len(hello)-1)])
		}
		eventually(t, "all connections are accepted", func() bool {
			sum, _ := r.group.Stats()
			return sum.Accepted == clients && int(sum.BytesIn) > 0
		})
		if n := goroutines(); n != 0 {
			t.Errorf("%d goroutines run handshakes", n)
		}
		echoes(t, tls.Client(r.dial(t), client), noise(10))
	})
}

// abortedWire ends the connection after a number of written or read bytes.
type abortedWire struct {
	net.Conn
	left  int
	reset bool
}

func (a *abortedWire) end() {
	if a.reset {
		_ = a.Conn.(*net.TCPConn).SetLinger(0)
	}
	_ = a.Close()
}

func (a *abortedWire) Write(p []byte) (int, error) {
	n := min(len(p), a.left)
	_, _ = a.Conn.Write(p[:n])
	if a.left -= n; a.left == 0 {
		a.end()
		return n, net.ErrClosed
	}
	return n, nil
}

func (a *abortedWire) Read(p []byte) (int, error) {
	n, err := a.Conn.Read(p[:min(len(p), a.left)])
	if a.left -= n; a.left == 0 {
		a.end()
		return n, net.ErrClosed
	}
	return n, err
}

// TestAbortedHandshakes: clients leave at random points of their handshakes. No goroutine and no place is left behind.
func TestAbortedHandshakes(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	both(t, func(t *testing.T, cfg *loop.Config) {
		r := newRig(t, cfg, &Config{Handshakes: 4, Waiting: 10000}, server)
		const clients, each = 20, 60
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(1, uint64(i)))
				for range each {
					c, err := net.Dial("tcp", r.listener.Addr().String())
					if err != nil {
						t.Error(err)
						return
					}
					_ = c.SetDeadline(time.Now().Add(time.Minute))
					_ = tls.Client(&abortedWire{c, 1 + rng.IntN(4000), rng.IntN(2) == 0}, client).Handshake()
					_ = c.Close()
				}
			})
		}
		wg.Wait()
		eventually(t, "all connections are closed", func() bool {
			sum, _ := r.group.Stats()
			return sum.Closed == clients*each
		})
		eventually(t, "no goroutine runs a handshake", func() bool { return goroutines() == 0 })
		p := r.layers.places
		p.mu.Lock()
		if p.running.len != 0 || len(p.queue) != 0 || len(p.compute) != 0 {
			t.Errorf("left behind: %d places, %d bounds that wait, %d that compute", p.running.len, len(p.queue), len(p.compute))
		}
		p.mu.Unlock()
		echoes(t, tls.Client(r.dial(t), client), noise(10))
	})
}

func (p *places) setPatience(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.patience = d
}

// TestStalledHandshakes: clients that stop in the middle of their handshakes take all places. They lose them to clients that
// wait.
func TestStalledHandshakes(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	r := newRig(t, nil, &Config{Handshakes: 4}, server)
	hello := recordedHello(t, client)
	r.layers.places.setPatience(50 * time.Millisecond)
	const stalled = 12
	for range stalled {
		_, _ = r.dial(t).Write(hello)
	}
	echoes(t, tls.Client(r.dial(t), client), noise(10))
	slow := 0
	for range 9 {
		if errors.Is(r.wantClosed(t), ErrSlow) {
			slow++
		}
	}
	if slow < 8 { // the ninth is the honest client
		t.Errorf("%d connections were closed as silent", slow)
	}
}

// TestBusy: a connection above Waiting is refused, and others are served later.
func TestBusy(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	r := newRig(t, &loop.Config{Loops: 1}, &Config{Handshakes: 1, Waiting: 1}, server)
	r.layers.places.setPatience(50 * time.Millisecond)
	hello := recordedHello(t, client)
	for range 3 {
		_, _ = r.dial(t).Write(hello)
	}
	if err := r.wantClosed(t); !errors.Is(err, ErrBusy) {
		t.Errorf("Closed with %v, want %v", err, ErrBusy)
	}
	eventually(t, "a handshake succeeds", func() bool {
		conn := tls.Client(r.dial(t), client)
		defer func() { _ = conn.NetConn().Close() }()
		return conn.Handshake() == nil
	})
}

// clientEcho sends bytes, collects what comes back, and closes when it is complete.
type clientEcho struct {
	loop.Base
	want int
	got  chan int
	err  chan error
	n    int
}

func (e *clientEcho) Opened(c *loop.Conn) { c.Write(noise(e.want)) }

func (e *clientEcho) Data(c *loop.Conn, p []byte) int {
	if e.n += len(p); e.n == e.want {
		c.Close()
	}
	return len(p)
}

func (e *clientEcho) Closed(_ *loop.Conn, err error) { e.got <- e.n; e.err <- err }

// TestClient: the client's side verifies the server and exchanges bytes with it.
func TestClient(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	both(t, func(t *testing.T, cfg *loop.Config) {
		r := newRig(t, cfg, nil, server)
		to, err := loop.ParseAddr(r.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		other := client.Clone()
		other.ServerName = "other.example"
		for _, row := range []struct {
			name   string
			config *tls.Config
			want   string
		}{
			{"verified", client, ""},
			{"another name", other, "certificate is valid for example.com, not other.example"},
			{"unknown authority", &tls.Config{ServerName: "example.com"}, "unknown authority"},
		} {
			e := &clientEcho{want: 100000, got: make(chan int, 1), err: make(chan error, 1)}
			l := r.group.Loops()[0]
			if err := l.Post(func() {
				c := l.Dial(to, 0, e)
				c.SetLayer(r.layers.Client(l, row.config), nil)
			}); err != nil {
				t.Fatal(err)
			}
			n, err := <-e.got, <-e.err
			if row.want == "" && (err != nil || n != e.want) || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%s: %d bytes, then %v, want %q", row.name, n, err, row.want)
			}
		}
	})
}

// TestClientTruncated: for a client, an end without close_notify is an error.
func TestClientTruncated(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		conn := tls.Server(c, server)
		_, _ = io.ReadFull(conn, make([]byte, 10))
		_, _ = conn.Write(noise(5))
		_ = c.Close()
	}()
	group, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = group.Shutdown(t.Context()) }()
	to, err := loop.ParseAddr(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	e := &clientEcho{want: 10, got: make(chan int, 1), err: make(chan error, 1)}
	l := group.Loops()[0]
	if err := l.Post(func() { l.Dial(to, 0, e).SetLayer(New(1, nil).Client(l, client), nil) }); err != nil {
		t.Fatal(err)
	}
	if n, err := <-e.got, <-e.err; n != 5 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d bytes, then %v, want 5, then %v", n, err, io.ErrUnexpectedEOF)
	}
}

// TestKept: a paused connection keeps its own bytes while other connections of the loop use the shared buffer. The memory for
// them counts for the loop's QueueMemory.
func TestKept(t *testing.T) {
	server, _ := newAuthority(t).configs(t)
	r := newRig(t, &loop.Config{Loops: 1, QueueMemory: 16 << 10}, nil, server) // all[2] takes 16 KiB below
	conns := make(chan *loop.Conn, 3)
	at, err := loop.ParseAddr("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := r.group.Listen(at, func(c *loop.Conn) loop.Handler {
		c.SetLayer(r.layers.Server(c.Loop(), server, r.layers.Bound()), nil)
		conns <- c
		return loop.Base{}
	})
	if err != nil {
		t.Fatal(err)
	}
	r.listener = listener
	var all [3]*loop.Conn
	for i := range all {
		r.dial(t)
		all[i] = <-conns
	}
	done := make(chan struct{})
	if err := r.group.Loops()[0].Post(func() {
		defer close(done)
		a, b := all[0].Layer().(*Layer), all[1].Layer().(*Layer)
		s := a.shared
		s.w += copy(s.enter(a), "first layer")
		a.consume(6)
		s.w += copy(s.enter(b), "second")
		if got := string(a.pending()) + "/" + string(b.pending()); got != "layer/second" {
			t.Errorf("pending: %q", got)
		}
		all[2].Write(make([]byte, 8<<10))
		if !all[2].Full() {
			t.Error("the kept bytes do not make the loop crowded")
		}
		all[2].Abort(nil)
		a.consume(5)
		b.consume(6)
		if a.kept != nil || len(a.pending()) != 0 || len(b.pending()) != 0 {
			t.Error("bytes are left")
		}
		s.leave(b)
		if s.owner != nil {
			t.Error("the buffer has an owner that left")
		}
	}); err != nil {
		t.Fatal(err)
	}
	<-done
}

// TestWaitingHandshakeIsSmall: the loop reads little from a client whose handshake waits for a place, however much it sends.
// The rest stays in the kernel.
func TestWaitingHandshakeIsSmall(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	r := newRig(t, &loop.Config{Loops: 1}, &Config{Handshakes: 1}, server)
	r.layers.places.setPatience(time.Hour)
	hello := recordedHello(t, client)
	_, _ = r.dial(t).Write(hello)
	p := r.layers.places
	first := func() (running, waiting *handshake) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.queue) > 0 {
			waiting = p.queue[0].waiting.head
		}
		return p.running.head, waiting
	}
	eventually(t, "the first handshake has the place", func() bool { running, _ := first(); return running != nil })
	conn := r.dial(t)
	go func() { _, _ = conn.Write(append(hello, make([]byte, 4<<20)...)) }()
	eventually(t, "the second handshake waits, and its connection is not read", func() bool {
		_, h := first()
		if h == nil {
			return false
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.stalled
	})
	sum, _ := r.group.Stats()
	if most := int64(2*len(hello) + maxEarly + maxHello); sum.BytesIn > most {
		t.Errorf("%d bytes were read, want at most %d", sum.BytesIn, most)
	}
}

// TestOneSilentForOneWaiting: each handshake that waits ends one silent handshake, also if those that were ended before have
// not left their places yet.
func TestOneSilentForOneWaiting(t *testing.T) {
	p := newPlaces(4)
	p.setPatience(time.Hour)
	b := &Bound{places: p, most: 4, mostWaiting: 10}
	for range 4 {
		h := newHandshake(&Layer{bound: b}, nil)
		h.silent, h.since = true, time.Now().Add(-2*time.Hour)
		p.running.push(h)
		b.taken++
	}
	ended := func() (n int) {
		for h := p.running.head; h != nil; h = h.next {
			if errors.Is(h.inErr, ErrSlow) {
				n++
			}
		}
		return n
	}
	for want := 1; want <= 3; want++ {
		if err := b.enter(newHandshake(&Layer{bound: b}, nil)); err != nil {
			t.Fatal(err)
		}
		if n := ended(); n != want {
			t.Fatalf("%d handshakes wait and %d were ended", want, n)
		}
	}
	p.mu.Lock()
	p.timer.Stop()
	p.mu.Unlock()
}
