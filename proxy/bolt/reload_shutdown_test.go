package bolt

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
)

// The Plan is replaced many times under load, and no request fails.
func TestUseUnderLoad(t *testing.T) {
	t.Parallel()
	routes := []route.Rule{{Name: "all", Cluster: "c"}}
	servers := []*server{newServer(t, nil), newServer(t, nil)}
	p := start(t, &loop.Config{Loops: 2}, nil, routes, cluster("c", servers[0]))
	var stop atomic.Bool
	var clients sync.WaitGroup
	for range 4 {
		c := p.dial()
		clients.Go(func() {
			for i := uint32(0); !stop.Load(); i += 8 {
				for k := range uint32(8) {
					c.send(call(wire.V2CRC, i+k, "a", numbered(int(k))))
				}
				for range 8 {
					if f := c.read(); f.Status() != wire.StatusSuccess || f.ID()/8 != i/8 {
						t.Errorf("%v for request %d", f.Status(), f.ID())
						return
					}
				}
			}
		})
	}
	for i := range 30 {
		p.use(nil, nil, routes, cluster("c", servers[i%2]))
		before := servers[i%2].served.Load()
		proxytest.Eventually(t, "the new plan's server is used", func() bool { return servers[i%2].served.Load() > before+20 })
	}
	stop.Store(true)
	clients.Wait()
}

// During a shutdown, a client gets every response that its server has sent. The client and the server count them.
func TestShutdownUnderLoad(t *testing.T) {
	t.Parallel()
	for _, portable := range []bool{false, true} {
		s := newServer(t, nil)
		p := start(t, &loop.Config{Loops: 2, Portable: portable}, nil, []route.Rule{{Name: "all", Cluster: "c"}}, cluster("c", s))
		var answered atomic.Int64
		var clients sync.WaitGroup
		for range 8 {
			c := p.dial()
			clients.Go(func() {
				for i := uint32(0); ; i++ {
					frame, _ := wire.Append(nil, call(wire.V1, i, "a", nil))
					if c.write(frame) != nil {
						return
					}
					_ = c.SetReadDeadline(time.Now().Add(patience))
					f, err := readFrame(c)
					if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
						return
					}
					if err != nil || f.Status() != wire.StatusSuccess {
						t.Errorf("%v, %v", f, err)
						return
					}
					answered.Add(1)
				}
			})
		}
		proxytest.Eventually(t, "there is load", func() bool { return answered.Load() > 200 })
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		if err := p.group.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		cancel()
		clients.Wait()
		if a, b := answered.Load(), s.served.Load(); a != b {
			t.Errorf("the server has served %d requests, clients have %d answers", b, a)
		}
	}
}

// A shutdown does not wait for a client that keeps sending requests.
func TestShutdownOfBusyClient(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	s.handle = func(p *peer, f wire.Frame) {
		time.Sleep(time.Millisecond)
		echo(p, f)
	}
	p := simple(t, nil, s)
	c := p.dial()
	go func() {
		for i := uint32(0); ; i++ {
			frame, _ := wire.Append(nil, call(wire.V1, i, "a", nil))
			if c.write(frame) != nil {
				return
			}
		}
	}()
	c.read()
	done := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		done <- p.group.Shutdown(ctx)
	}()
	for {
		if _, err := readFrame(c); err != nil {
			break
		}
	}
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// A request that has arrived when its connection is shut down is served: the first one of a connection, and one between two requests.
func TestShutdownOfIdleClients(t *testing.T) {
	t.Parallel()
	p := simple(t, nil, newServer(t, nil))
	used, fresh := p.dial(), p.dial()
	used.send(call(wire.V1, 1, "a", nil))
	used.status(1, wire.StatusSuccess)
	proxytest.Eventually(t, "both connections are accepted", func() bool { sum, _ := p.group.Stats(); return sum.Accepted == 2 })
	l := p.group.Loops()[0]
	proxytest.OnLoop(t, l, func() bool {
		used.send(call(wire.V1, 2, "a", nil)) // the loop reads this later
		for c, h := range l.All() {
			if p.service.Owns(h) {
				h.(loop.Shutdowner).Shutdown(c)
			}
		}
		return true
	})
	fresh.send(call(wire.V1, 2, "a", nil))
	for _, c := range []*peer{used, fresh} {
		c.status(2, wire.StatusSuccess)
		c.ends()
		_ = c.Close()
	}
}

// A connection to a server that is dialed after Shutdown is closed with its last response. Shutdown would wait for it.
func TestShutdownAfterLateDial(t *testing.T) {
	t.Parallel()
	held := make(chan *peer, 1)
	s := newServer(t, nil)
	s.handle = func(p *peer, f wire.Frame) {
		if s.served.Load() == 1 {
			held <- p
			return
		}
		echo(p, f)
	}
	p := start(t, nil, nil, retrying(route.OnReset), cluster("c", s))
	c := p.dial()
	c.send(call(wire.V1, 1, "a", nil))
	first := <-held
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		ended <- p.group.Shutdown(ctx)
	}()
	l := p.group.Loops()[0]
	proxytest.Eventually(t, "the loop is stopping", func() bool { return proxytest.OnLoop(t, l, l.Stopping) })
	_ = first.Close() // the proxy sends the request again, on another connection
	c.status(1, wire.StatusSuccess)
	if err := <-ended; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	p := simple(t, nil, newServer(t, nil))
	other := New(nil, 1)
	c := p.dial()
	if err := c.write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	p.dial()
	proxytest.Eventually(t, "two clients are there", func() bool {
		sum, _ := p.group.Stats()
		return sum.Conns == 2 && p.active() == 1
	})
	got := make(chan [2]int)
	if err := p.group.Loops()[0].Post(func() {
		var n [2]int
		for _, h := range p.group.Loops()[0].All() {
			if p.service.Owns(h) {
				n[0]++
			}
			if other.Owns(h) {
				n[1]++
			}
		}
		got <- n
	}); err != nil {
		t.Fatal(err)
	}
	if n := <-got; n != [2]int{2, 0} {
		t.Errorf("the service owns %d of its 2 clients, another one %d", n[0], n[1])
	}
}

// A client sends more requests than may be in flight. It gets all responses, even during a shutdown.
func TestShutdownAnswersWhatWasRead(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var answers []byte
	held := make(chan *peer, 6)
	s := newServer(t, func(p *peer, f wire.Frame) {
		mu.Lock()
		defer mu.Unlock()
		answers, _ = wire.Append(answers, reply(f, f.Content()))
		held <- p
	})
	p := simple(t, &Config{Requests: 3}, s)
	c := p.dial()
	var frames []byte
	for i := range uint32(6) {
		frames, _ = wire.Append(frames, call(wire.V1, i, "a", numbered(int(i))))
	}
	if err := c.write(frames); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var server *peer
		for range 3 {
			select {
			case server = <-held:
			case <-time.After(patience):
				t.Fatal("a request does not arrive")
			}
		}
		for _, l := range p.group.Loops() {
			p.on(l, func() {
				for conn, h := range l.All() {
					if p.service.Owns(h) {
						h.(loop.Shutdowner).Shutdown(conn)
						conn.SetTimer(closeTimer, patience)
					}
				}
			})
		}
		mu.Lock()
		all := answers
		answers = nil
		mu.Unlock()
		if err := server.write(all); err != nil { // all in one write
			t.Fatal(err)
		}
	}
	got := map[uint32]string{}
	for range 6 {
		f := c.read()
		got[f.ID()] = string(f.Content())
	}
	for i := range uint32(6) {
		if want := string(numbered(int(i))); got[i] != want {
			t.Errorf("answer %d is %q, want %q", i, got[i], want)
		}
	}
	c.ends()
}
