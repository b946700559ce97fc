package bolt

import (
	"net"
	"testing"
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/proxytest"
)

func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	c := simple(t, nil, newServer(t, nil)).dial()
	frame, err := wire.Append(nil, call(wire.V2CRC, 7, "a", []byte("hello")))
	if err != nil {
		t.Fatal(err)
	}
	frame = append(frame, frame...)
	for cut := range len(frame) {
		for _, part := range [][]byte{frame[:cut], frame[cut:]} {
			if err := c.write(part); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Microsecond) // so that most parts arrive separately; the result does not depend on it
		}
		for range 2 {
			c.echoed(c.status(7, wire.StatusSuccess), []byte("hello"))
		}
	}
}

func TestIdleHasNoObject(t *testing.T) {
	t.Parallel()
	p := simple(t, nil, newServer(t, nil))
	var clients []*peer
	for i := range 100 {
		c := p.dial()
		clients = append(clients, c)
		c.send(call(wire.V1, uint32(i), "a", nil))
		c.status(uint32(i), wire.StatusSuccess)
	}
	proxytest.Eventually(t, "no session is in use", func() bool { return p.active() == 0 })
	if err := clients[0].write([]byte{1, 1}); err != nil { // the first bytes of a frame
		t.Fatal(err)
	}
	proxytest.Eventually(t, "one session is in use", func() bool { return p.active() == 1 })
	if _, stats := p.group.Stats(); stats[0].Conns != 101 {
		t.Errorf("%d connections, want 100 and the server's", stats[0].Conns)
	}
}

func TestHeartbeatsOfClients(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	p := simple(t, nil, s)
	for d, name := range dialectNames {
		t.Run(name, func(t *testing.T) {
			c := p.dial()
			beat, err := wire.AppendHeartbeat(nil, d, 77)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.write(beat); err != nil {
				t.Fatal(err)
			}
			if f := c.status(77, wire.StatusSuccess); f.Command() != wire.CommandHeartbeat {
				t.Errorf("answered by a %v", f.Command())
			}
		})
	}
	if n := s.conns.Load(); n != 0 {
		t.Errorf("heartbeats opened %d connections to the server", n)
	}
}

func TestOneway(t *testing.T) {
	t.Parallel()
	got := make(chan wire.Frame, 4)
	s := newServer(t, func(p *peer, f wire.Frame) {
		if f.Type() == wire.Oneway {
			got <- f
			return
		}
		echo(p, f)
	})
	c := simple(t, nil, s).dial()
	for _, size := range []int{10, 10, largeFrame + 1, 300_000} {
		m := call(wire.V1, 1, "a", filled(size))
		m.Type = wire.Oneway
		c.send(m)
		c.echoed(<-got, filled(size))
	}
	c.send(call(wire.V1, 2, "a", nil))
	c.status(2, wire.StatusSuccess) // no other response comes before
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	p := simple(t, &Config{MaxFrame: 1000, CheckCRC: true}, s)
	good, _ := wire.Append(nil, call(wire.V2CRC, 5, "a", []byte("hello")))
	damaged := append([]byte{}, good...)
	damaged[len(damaged)-6] ^= 1
	other, _ := wire.Append(nil, call(wire.V1, 6, "a", nil))
	tooLarge, _ := wire.Append(nil, call(wire.V1, 9, "a", make([]byte, 1000)))
	for _, tt := range []struct {
		name   string
		bytes  []byte
		before bool // a response with success comes first
		id     uint32
		told   bool
	}{
		{name: "not bolt", bytes: []byte("GET / HTTP/1.1\r\n\r\n")},
		{name: "unknown type", bytes: []byte{1, 9}},
		{name: "crc", bytes: damaged, id: 5, told: true},
		{name: "too large", bytes: tooLarge, id: 9, told: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := p.dial()
			if err := c.write(tt.bytes); err != nil {
				t.Fatal(err)
			}
			if tt.told {
				c.status(tt.id, wire.StatusCodec)
			}
			c.ends()
		})
	}
	t.Run("another dialect", func(t *testing.T) {
		c := p.dial()
		if err := c.write(good); err != nil {
			t.Fatal(err)
		}
		c.status(5, wire.StatusSuccess)
		if err := c.write(other); err != nil {
			t.Fatal(err)
		}
		c.ends()
	})
	if n := s.served.Load(); n != 1 {
		t.Errorf("the server got %d requests, want the good one", n)
	}
}

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	p := simple(t, &Config{IdleTimeout: 30 * time.Millisecond, FrameTimeout: 30 * time.Millisecond}, newServer(t, nil))
	p.dial().ends()
	c := p.dial()
	c.send(call(wire.V1, 1, "a", nil))
	c.status(1, wire.StatusSuccess)
	c.ends()
	half := p.dial() // sends a frame that never ends
	if err := half.write([]byte{1, 1, 0}); err != nil {
		t.Fatal(err)
	}
	half.ends()
}

func TestHalfClose(t *testing.T) {
	t.Parallel()
	release := make(chan bool)
	s := newServer(t, func(p *peer, f wire.Frame) {
		<-release
		echo(p, f)
	})
	c := simple(t, nil, s).dial()
	c.send(call(wire.V1, 1, "a", nil))
	c.send(call(wire.V1, 2, "a", nil))
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	close(release)
	c.status(1, wire.StatusSuccess)
	c.status(2, wire.StatusSuccess)
	c.ends()
}

func TestClientGone(t *testing.T) {
	t.Parallel()
	release := make(chan bool)
	s := newServer(t, func(p *peer, f wire.Frame) {
		<-release
		echo(p, f)
	})
	p := simple(t, nil, s)
	gone, stays := p.dial(), p.dial()
	for i := range 10 {
		gone.send(call(wire.V1, uint32(i), "a", nil))
	}
	proxytest.Eventually(t, "the first request is there", func() bool { return s.served.Load() == 1 })
	_ = gone.Conn.(*net.TCPConn).SetLinger(0) // closes with a reset, because a client that closes normally may still read
	_ = gone.Close()
	proxytest.Eventually(t, "the client is forgotten", func() bool { return p.active() == 0 })
	stays.send(call(wire.V1, 3, "a", []byte("mine")))
	close(release)
	stays.echoed(stays.status(3, wire.StatusSuccess), []byte("mine"))
	if n := p.service.Late(); n != 10 {
		t.Errorf("%d answers were late, want 10", n)
	}
}

// Requests above the limit of requests in flight are not read until other requests have their response. None is lost.
func TestRequestsInFlight(t *testing.T) {
	t.Parallel()
	release := make(chan bool)
	s := newServer(t, nil)
	s.handle = func(p *peer, f wire.Frame) {
		go func() {
			<-release
			echo(p, f)
		}()
	}
	c := simple(t, &Config{Requests: 3}, s).dial()
	for i := range 50 {
		c.send(call(wire.V1, uint32(i), "a", nil))
	}
	proxytest.Eventually(t, "three requests are there", func() bool { return s.served.Load() >= 3 })
	release <- true
	c.read()
	proxytest.Eventually(t, "one more is", func() bool { return s.served.Load() >= 4 })
	if n := s.served.Load(); n != 4 {
		t.Errorf("%d requests were sent while 3 may be in flight and 1 is answered", n)
	}
	close(release)
	for range 49 {
		c.read()
	}
}

// A client that reads no responses is disconnected. It does not delay other clients on the shared connection.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(p *peer, f wire.Frame) {
		frame, _ := wire.Append(nil, reply(f, filled(60_000)))
		_ = p.write(frame) // an error is possible after the end of the test
	})
	p := simple(t, &Config{MaxQueued: 1 << 20}, s)
	slow, other := p.dial(), p.dial()
	_ = slow.Conn.(*net.TCPConn).SetReadBuffer(4096)
	sent := make(chan bool)
	go func() {
		defer close(sent)
		for i := uint32(0); ; i++ { // until the client is disconnected
			frame, _ := wire.Append(nil, call(wire.V1, i, "a", nil))
			if slow.write(frame) != nil {
				return
			}
		}
	}()
	for i := range 20 {
		other.send(call(wire.V1, uint32(i), "a", nil))
		other.echoed(other.status(uint32(i), wire.StatusSuccess), filled(60_000))
	}
	<-sent
}

// Requests before a malformed frame still get their responses, no matter how many bytes follow the frame.
func TestAnswersBeforeMalformed(t *testing.T) {
	t.Parallel()
	release := make(chan bool)
	s := newServer(t, func(p *peer, f wire.Frame) {
		<-release
		echo(p, f)
	})
	c := simple(t, nil, s).dial()
	c.send(call(wire.V1, 1, "a", numbered(1)))
	proxytest.Eventually(t, "the request is there", func() bool { return s.served.Load() == 1 })
	if err := c.write(append([]byte("GET / HTTP/1.1\r\n\r\n"), make([]byte, 1<<20)...)); err != nil {
		t.Fatal(err)
	}
	close(release)
	c.echoed(c.status(1, wire.StatusSuccess), numbered(1))
	c.ends()
}
