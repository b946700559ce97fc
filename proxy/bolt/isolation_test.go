package bolt

import (
	"net"
	"testing"
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// forwardAll has one route that matches every request.
var forwardAll = []route.Rule{{Name: "all", Cluster: "c"}}

// outcomes adds up the outcomes of a cluster's endpoints.
func outcomes(c *upstream.Cluster) (sum [upstream.Outcomes]int64) {
	for _, e := range c.Snapshot().Endpoints {
		for o, n := range e.Outcomes {
			sum[o] += n
		}
	}
	return sum
}

// If a client disconnects within its upload, no request of another client fails. The failure does not count against
// the server.
func TestUploadFailsAlone(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*net.TCPConn) error{
		"half close": (*net.TCPConn).CloseWrite,
		"reset": func(c *net.TCPConn) error {
			_ = c.SetLinger(0)
			return c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan bool)
			s := newServer(t, nil)
			s.handle = func(p *peer, f wire.Frame) {
				go func() {
					<-release
					echo(p, f)
				}()
			}
			p := start(t, nil, nil, forwardAll, cluster("c", s))
			c := p.use(nil, nil, forwardAll, cluster("c", s))["c"]
			const large = 2 * largeFrame
			waits, dies := p.dial(), p.dial()
			waits.send(call(wire.V2CRC, 1, "a", filled(large)))
			proxytest.Eventually(t, "the first upload is served", func() bool { return s.served.Load() == 1 })
			frame, err := wire.Append(nil, call(wire.V2CRC, 2, "a", filled(large)))
			if err != nil {
				t.Fatal(err)
			}
			before := p.bytesIn()
			if err := dies.write(frame[:large/2]); err != nil {
				t.Fatal(err)
			}
			proxytest.Eventually(t, "half of the second upload is read", func() bool { return p.bytesIn()-before == large/2 })
			if err := leave(dies.Conn.(*net.TCPConn)); err != nil {
				t.Fatal(err)
			}
			proxytest.Eventually(t, "the second upload has ended", func() bool { return c.Snapshot().Active == 1 })
			close(release)
			waits.echoed(waits.status(1, wire.StatusSuccess), filled(large))
			want := [upstream.Outcomes]int64{upstream.Success: 1, upstream.Canceled: 1}
			if got := outcomes(c); got != want {
				t.Errorf("outcomes %v, want one success and one canceled", got)
			}
		})
	}
}

// If a server's connection is paused because a client is slow, the server's heartbeat responses cannot be read. They
// do not count as missed.
func TestNoHeartbeatIsMissedWhilePaused(t *testing.T) {
	t.Parallel()
	const size, beat = 20 << 20, 50 * time.Millisecond
	content := filled(size)
	s := newServer(t, func(p *peer, f wire.Frame) {
		go func() { // answers heartbeats meanwhile
			frame, _ := wire.Append(nil, reply(f, content))
			_ = p.write(frame)
		}()
	})
	one := cluster("c", s)
	one.Heartbeat = beat
	p := start(t, nil, nil, forwardAll, one)
	slow := p.dial()
	slow.send(call(wire.V1, 1, "a", nil))
	p.paused()
	time.Sleep(10 * maxMissedHeartbeats * beat) // long enough for heartbeats to be missed
	slow.echoed(slow.status(1, wire.StatusSuccess), filled(size))
}

// While a server's connection is paused because a client is slow, frame_timeout does not run against the server. A
// request sent shortly before the timeout still gets its response.
func TestPausedTimeIsNotTheServers(t *testing.T) {
	t.Parallel()
	const frameTimeout, size, tail = 6 * time.Second, 20 << 20, 1 << 20
	s := newServer(t, func(p *peer, f wire.Frame) {
		if string(f.Content()) != "large" {
			echo(p, f)
			return
		}
		frame, _ := wire.Append(nil, reply(f, filled(size)))
		_ = p.write(frame[:size-tail])
		time.Sleep(frameTimeout * 6 / 10)
		_ = p.write(frame[size-tail:])
	})
	one := cluster("c", s)
	one.Connections = 1
	p := start(t, nil, &Config{FrameTimeout: frameTimeout}, forwardAll, one)
	slow, joins := p.dial(), p.dial()
	slow.send(call(wire.V1, 1, "a", []byte("large")))
	began := time.Now()
	p.paused()
	time.Sleep(time.Until(began.Add(frameTimeout * 7 / 10)))
	joins.send(call(wire.V1, 2, "a", []byte("small")))
	joins.echoed(joins.status(2, wire.StatusSuccess), []byte("small"))
	if n := s.conns.Load(); n != 1 {
		t.Errorf("%d connections to the server, want 1", n)
	}
}

// paused waits until the proxy has paused reading from the server, because a client does not read.
func (p *proxy) paused() {
	p.t.Helper()
	last, unchanged := int64(0), 0
	proxytest.Eventually(p.t, "reading from the server is paused", func() bool {
		before := last
		if last = p.bytesIn(); last == before && last > 256<<10 { // the default of loop.Config.HighWater
			unchanged++
		} else {
			unchanged = 0
		}
		time.Sleep(20 * time.Millisecond)
		return unchanged == 5
	})
}
