package bolt

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
)

// 20 MiB pass in both directions, but the process allocates much less. The client and the server of this test also
// write and read in pieces.
func TestLargeInBoundedMemory(t *testing.T) {
	const size = 20 << 20
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := simple(t, nil, &server{addr: ln.Addr().String()})
	head, err := wire.Append(nil, call(wire.V1, 1, "a", nil))
	if err != nil {
		t.Fatal(err)
	}
	piece := filled(1 << 20)
	put := func(c net.Conn, head []byte, at int) error {
		copy(head[at:], []byte{size >> 24, size >> 16 & 255, size >> 8 & 255, size & 255})
		if _, err := c.Write(head); err != nil {
			return err
		}
		for range size / len(piece) {
			if _, err := c.Write(piece); err != nil {
				return err
			}
		}
		return nil
	}
	take := func(c net.Conn, n int) error {
		got := make([]byte, 1<<16)
		_ = c.SetReadDeadline(time.Now().Add(patience))
		for n > 0 {
			k, err := c.Read(got[:min(n, len(got))])
			if err != nil {
				return fmt.Errorf("with %d bytes to come: %w", n, err)
			}
			n -= k
		}
		return nil
	}
	served := make(chan error, 1)
	closed := make(chan bool)
	defer close(closed)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			served <- err
			return
		}
		defer c.Close()
		defer func() { <-closed }()
		if err = take(c, len(head)+size); err == nil {
			answer := wire.AppendResponse(nil, (&request{fixedHeader: [wire.MaxFixed]byte(head)}).frame(), 0)
			copy(answer[5:], []byte{0, 0, 0, 1})
			err = put(c, answer, 16)
		}
		served <- err
	}()
	c := p.dial()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := put(c.Conn, head, 18); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond) // so that the response arrives before the client reads
	if err := take(c.Conn, 20+size); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes were allocated for two frames of %d", n, size)
	}
}

// Responses that are ready while a large response is being written are sent after it, in order, and not between its
// pieces.
func TestAnswersDoNotMix(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	first, rest := make(chan bool), make(chan bool)
	pieces := func(p *peer, f wire.Frame) {
		frame, err := wire.Append(nil, reply(f, f.Content()))
		if err != nil {
			t.Error(err)
		}
		_ = p.write(frame[:size/2])
		first <- true
		<-rest
		_ = p.write(frame[size/2:])
	}
	s := newServer(t, func(p *peer, f wire.Frame) {
		if f.ContentLen() == size {
			pieces(p, f)
			return
		}
		echo(p, f)
	})
	c := simple(t, nil, s).dial()
	c.send(call(wire.V2CRC, 1, "a", filled(size)))
	<-first
	c.send(call(wire.V2CRC, 2, "a", filled(size))) // uses another connection, because that of the first request is busy
	go func() {
		c.send(call(wire.V2CRC, 3, "a", []byte("small")))
		beat, _ := wire.AppendHeartbeat(nil, wire.V2CRC, 4)
		_ = c.write(beat)
	}()
	proxytest.Eventually(t, "the small request is served", func() bool { return s.served.Load() >= 2 })
	go func() {
		rest <- true
		<-first
		rest <- true
	}()
	seen := map[uint32]int{}
	for range 4 {
		f := c.read()
		seen[f.ID()] = f.ContentLen()
	}
	if seen[1] != size || seen[2] != size || seen[3] != 5 || len(seen) != 4 {
		t.Errorf("answers by id, with their lengths: %v", seen)
	}
}

// If a client disconnects within a large frame, its upstream connection is closed. Requests of other clients do not
// fail.
func TestClientDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	p := simple(t, nil, s)
	frame, err := wire.Append(nil, call(wire.V1, 1, "a", filled(1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		dies, other := p.dial(), p.dial()
		if err := dies.write(frame[:500_000]); err != nil {
			t.Fatal(err)
		}
		other.send(call(wire.V1, 2, "a", []byte("small")))
		other.echoed(other.status(2, wire.StatusSuccess), []byte("small"))
		_ = dies.Close()
		other.send(call(wire.V1, 3, "a", filled(200_000)))
		other.echoed(other.status(3, wire.StatusSuccess), filled(200_000))
	}
	proxytest.Eventually(t, "no session is left", func() bool { return p.active() == 0 })
	if n := s.served.Load(); n != 10 {
		t.Errorf("the server got %d requests, want the 10 that were whole", n)
	}
}

func TestFrameTimeout(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	p := simple(t, &Config{FrameTimeout: 50 * time.Millisecond}, s)
	c := p.dial()
	frame, err := wire.Append(nil, call(wire.V1, 1, "a", filled(1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.write(frame[:500_000]); err != nil {
		t.Fatal(err)
	}
	c.ends()
	proxytest.Eventually(t, "the server's connection is closed too", func() bool {
		sum, _ := p.group.Stats()
		return sum.Conns == 0
	})
}

// If a server disconnects or stops within a response, the client's connection is closed, because an error response
// cannot follow part of a frame.
func TestServerDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, closes := range []bool{true, false} {
		t.Run(fmt.Sprint(closes), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(p *peer, f wire.Frame) {
				frame, _ := wire.Append(nil, reply(f, filled(1<<20)))
				_ = p.write(frame[:300_000])
				if closes {
					_ = p.Close()
				}
			})
			c := simple(t, &Config{FrameTimeout: 50 * time.Millisecond}, s).dial()
			c.send(call(wire.V1, 1, "a", nil))
			if f, err := readFrame(c); err == nil {
				t.Errorf("an answer of %d bytes is whole", f.FrameLen())
			}
		})
	}
}

// If a server disconnects during a large request, the client gets an error response and its connection stays open.
func TestServerDiesDuringUpload(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1000))
			_ = c.Close()
		}
	}()
	other := newServer(t, nil)
	small := route.Rule{Name: "small", Cluster: "small"}
	small.Match.Bolt.Service = "small"
	c := start(t, nil, nil, []route.Rule{small, {Name: "all", Cluster: "c"}},
		cluster("c", &server{addr: ln.Addr().String()}), cluster("small", other)).dial()
	for i := range uint32(3) {
		c.send(call(wire.V2CRC, 2*i, "a", filled(5<<20)))
		c.status(2*i, wire.StatusClosed)
		c.send(call(wire.V2CRC, 2*i+1, "small", []byte("alive")))
		c.echoed(c.status(2*i+1, wire.StatusSuccess), []byte("alive"))
	}
}

// A client that does not read its large response pauses the server's connection. Another request on the connection
// ends the pause.
func TestSlowClientOfLargeAnswer(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	s := newServer(t, func(p *peer, f wire.Frame) {
		n := 10
		if string(f.Content()) == "large" {
			n = size
		}
		p.send(reply(f, filled(n)))
	})
	one := cluster("c", s)
	one.Connections = 1
	p := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, one)
	slow, other := p.dial(), p.dial()
	_ = slow.Conn.(*net.TCPConn).SetReadBuffer(256 << 10) // otherwise it may take all: tcp_rmem differs between machines
	slow.send(call(wire.V1, 1, "a", []byte("large")))
	moved := func() int64 {
		sum, _ := p.group.Stats()
		return sum.BytesIn
	}
	proxytest.Eventually(t, "the server waits", func() bool {
		before := moved()
		time.Sleep(20 * time.Millisecond)
		return before > 1<<20 && moved() == before
	})
	if n := moved(); n > size-(4<<20) {
		t.Errorf("%d bytes of %d were read from the server for a client that takes none", n, size)
	}
	other.send(call(wire.V1, 2, "a", nil))
	other.echoed(other.status(2, wire.StatusSuccess), filled(10))
	slow.echoed(slow.status(1, wire.StatusSuccess), filled(size))
}

// Large frames that make no progress occupy all connections that limits.connections allows, except one.
func TestLargeLeaveOneConnection(t *testing.T) {
	t.Parallel()
	narrow := cluster("c", newServer(t, nil))
	narrow.Limits.Connections = 3
	p := start(t, &loop.Config{Loops: 1}, nil, []route.Rule{{Name: "all", Cluster: "c"}}, narrow)
	large, err := wire.Append(nil, call(wire.V1, 1, "a", filled(200<<10)))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.dial().write(large[:100<<10]); err != nil {
			t.Fatal(err)
		}
	}
	proxytest.Eventually(t, "two frames are on their way", func() bool {
		sum, _ := p.group.Stats()
		return sum.Conns == 2+2
	})
	third := p.dial()
	third.send(call(wire.V1, 1, "a", filled(100<<10)))
	third.status(1, wire.StatusThreadpoolBusy)
	third.send(call(wire.V1, 2, "a", []byte("small")))
	third.status(2, wire.StatusSuccess)
}
