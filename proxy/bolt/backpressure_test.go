package bolt

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// stalledServer accepts connections. It starts to read from them when read is closed.
func stalledServer(t *testing.T) (addr string, read chan bool, got *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	read, got = make(chan bool), &atomic.Int64{}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.(*net.TCPConn).SetReadBuffer(256 << 10) // otherwise it may take all that a test sends: tcp_rmem differs between machines
			go func() {
				defer c.Close()
				<-read
				for {
					if _, err := readFrame(c); err != nil {
						return
					}
					got.Add(1)
				}
			}()
		}
	}()
	return ln.Addr().String(), read, got
}

// queued returns the number of bytes that the proxy has queued for servers and clients.
func (p *proxy) queued() (n int) {
	p.t.Helper()
	for _, l := range p.group.Loops() {
		p.on(l, func() {
			for c := range l.All() {
				n += c.Queued()
			}
		})
	}
	return n
}

// on calls f on a loop and waits until f has returned.
func (p *proxy) on(l *loop.Loop, f func()) {
	p.t.Helper()
	done := make(chan bool)
	if err := l.Post(func() { f(); close(done) }); err != nil {
		p.t.Fatal(err)
	}
	<-done
}

// Oneways have no response, so only backpressure from the server bounds them.
func TestOnewaysToServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	addr, read, got := stalledServer(t)
	p := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, cluster("c", &server{addr: addr}))
	c := p.dial()
	m := call(wire.V1, 1, "a", filled(60_000))
	m.Type = wire.Oneway
	frame, _ := wire.Append(nil, m)
	const frames = 1000 // more than the kernel's buffers hold
	var sent atomic.Int64
	go func() {
		for range frames {
			if c.write(frame) != nil {
				return
			}
			sent.Add(1)
		}
	}()
	most, last, stands := 0, int64(0), 0
	proxytest.Eventually(t, "the client has to wait", func() bool {
		most = max(most, p.queued())
		if now := sent.Load(); now == 0 || now != last {
			last, stands = now, 0
		}
		stands++
		return stands == 20
	})
	if most > 1<<20 {
		t.Errorf("the proxy holds %d bytes for a server that does not read", most)
	}
	if last == frames {
		t.Fatal("all was sent, so nothing is shown")
	}
	close(read)
	proxytest.Eventually(t, "all oneways arrive", func() bool { return got.Load() == frames })
}

// A server that stops reading is disconnected after frame_timeout. Reading from its clients then resumes.
func TestServerThatNeverReads(t *testing.T) {
	t.Parallel()
	addr, _, _ := stalledServer(t)
	p := start(t, nil, &Config{FrameTimeout: 50 * time.Millisecond}, []route.Rule{{Name: "all", Cluster: "c"}},
		upstream.Config{Name: "c", Endpoints: []upstream.EndpointConfig{{Address: addr}}, Connections: 1, Heartbeat: -1})
	c := p.dial()
	go func() {
		for i := range uint32(1000) {
			frame, _ := wire.Append(nil, call(wire.V1, i, "a", filled(60_000)))
			if c.write(frame) != nil {
				return
			}
		}
	}()
	c.status(c.read().ID()+1, wire.StatusClosed) // and the request before; their order does not matter
}

// A client that stops reading is disconnected after frame_timeout, however little is queued.
func TestClientThatNeverReads(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(p *peer, f wire.Frame) { p.send(reply(f, filled(60_000))) })
	p := simple(t, &Config{FrameTimeout: 100 * time.Millisecond, IdleTimeout: -1}, s)
	c := p.dial()
	_ = c.Conn.(*net.TCPConn).SetReadBuffer(4096)
	for i := range uint32(200) {
		c.send(call(wire.V1, i, "a", nil))
	}
	proxytest.Eventually(t, "answers wait", func() bool { return p.queued() > 0 })
	proxytest.Eventually(t, "the client is given up", func() bool { return p.queued() == 0 && p.active() == 0 })
}

// A large request that reaches the limit of requests in flight is still read to its end.
func TestLargeRequestIsTheLastThatMayBe(t *testing.T) {
	t.Parallel()
	c := simple(t, &Config{Requests: 1}, newServer(t, nil)).dial()
	for i := range uint32(3) {
		content := filled(5 * largeFrame)
		c.send(call(wire.V2CRC, i, "a", content))
		c.echoed(c.status(i, wire.StatusSuccess), content)
	}
}

// A server that sends heartbeats and does not read the responses gets no more of them.
func TestServerAsksTooMuch(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, cluster("c", &server{addr: ln.Addr().String()}))
	p.dial().send(call(wire.V1, 1, "a", nil))
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	var beats []byte
	for range 10_000 {
		beats, _ = wire.AppendHeartbeat(beats, wire.V1, 7)
	}
	for range 40 {
		if _, err := conn.Write(beats); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.queued(); n > 64<<10 {
		t.Errorf("the proxy holds %d bytes of answers", n)
	}
}

// The proxy's own responses wait while a large response is being written. Their size is bounded: above the bound no
// frame is read. In the end all frames get a response.
func TestOwnResponsesBehindLargeOne(t *testing.T) {
	t.Parallel()
	const size, beats = 4 * largeFrame, 200_000
	begun, rest := make(chan bool), make(chan bool)
	s := newServer(t, func(p *peer, f wire.Frame) {
		frame, _ := wire.Append(nil, reply(f, filled(size)))
		_ = p.write(frame[:size/2])
		begun <- true
		<-rest
		_ = p.write(frame[size/2:])
	})
	p := simple(t, nil, s)
	c := p.dial()
	c.send(call(wire.V1, 1, "a", nil))
	<-begun
	var all []byte
	for range beats {
		all, _ = wire.AppendHeartbeat(all, wire.V1, 7)
	}
	before := p.bytesIn()
	written := make(chan error, 1)
	go func() { written <- c.write(all) }()
	last, stands := int64(0), 0
	proxytest.Eventually(t, "the client has to wait", func() bool {
		if now := p.bytesIn() - before; now == 0 || now != last {
			last, stands = now, 0
		}
		stands++
		return stands == 20
	})
	if last > 1<<20 {
		t.Errorf("%d bytes of heartbeats are read behind a response that does not end", last)
	}
	close(rest)
	c.echoed(c.status(1, wire.StatusSuccess), filled(size))
	for range beats {
		c.status(7, wire.StatusSuccess)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
