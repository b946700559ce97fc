package bolt

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// deafServer is a server that accepts connections, and reads from them when it is told to.
func deafServer(t *testing.T) (addr string, listen chan bool, got *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	listen, got = make(chan bool), &atomic.Int64{}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				<-listen
				for {
					if _, err := readFrame(c); err != nil {
						return
					}
					got.Add(1)
				}
			}()
		}
	}()
	return ln.Addr().String(), listen, got
}

// queued is how many bytes the proxy holds for servers and clients.
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

// on has a loop call f, and waits.
func (p *proxy) on(l *loop.Loop, f func()) {
	p.t.Helper()
	done := make(chan bool)
	if err := l.Post(func() { f(); close(done) }); err != nil {
		p.t.Fatal(err)
	}
	<-done
}

// Nobody waits for an answer to a oneway, so nothing but the server's reading bounds how many there are.
func TestOnewaysToServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	addr, listen, got := deafServer(t)
	p := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, cluster("c", &server{addr: addr}))
	c := p.dial()
	m := call(wire.V1, 1, "a", filled(60_000))
	m.Type = wire.Oneway
	frame, _ := wire.Append(nil, m)
	const frames = 1000 // more than the kernel holds
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
	eventually(t, "the client has to wait", func() bool {
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
	close(listen)
	eventually(t, "all oneways arrive", func() bool { return got.Load() == frames })
}

// A server that never reads again is given up, and with it the wait of those it held.
func TestServerThatNeverReads(t *testing.T) {
	t.Parallel()
	addr, _, _ := deafServer(t)
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
	c.status(c.read().ID()+1, wire.StatusClosed) // and the one before, whichever came first
}

// A client that takes nothing more is given up, however little it leaves.
func TestClientThatNeverReads(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(p *peer, f wire.Frame) { p.send(reply(f, filled(60_000))) })
	p := simple(t, &Config{FrameTimeout: 100 * time.Millisecond, IdleTimeout: -1}, s)
	c := p.dial()
	_ = c.Conn.(*net.TCPConn).SetReadBuffer(4096)
	for i := range uint32(200) {
		c.send(call(wire.V1, i, "a", nil))
	}
	eventually(t, "answers wait", func() bool { return p.queued() > 0 })
	eventually(t, "the client is given up", func() bool { return p.queued() == 0 && p.active() == 0 })
}

// As many as may be in flight are, and a large one among them ends all the same.
func TestLargeRequestIsTheLastThatMayBe(t *testing.T) {
	t.Parallel()
	c := simple(t, &Config{Requests: 1}, newServer(t, nil)).dial()
	for i := range uint32(3) {
		content := filled(5 * largeFrame)
		c.send(call(wire.V2CRC, i, "a", content))
		c.echoed(c.status(i, wire.StatusSuccess), content)
	}
}

// A server that asks and asks, and does not read what it is told, gets no more answers.
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

// While a large response is on its way to a client, the responses that the proxy makes itself wait behind it. They have a bound:
// beyond it the client's frames are not read, and all are answered in the end.
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
	eventually(t, "the client has to wait", func() bool {
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
