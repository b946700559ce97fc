package bolt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

const chaosSeed = 4190 // seed of clients and servers; the order in which loops read is random

// unreliableServer echoes requests with random faults. It responds late, out of order, with an unknown id, or after
// GOAWAY. It closes or resets the connection before, during or after a response. Sometimes it does not read for a
// while.
func unreliableServer(t *testing.T, seed uint64) *server {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(chaosSeed, seed))
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	var later sync.WaitGroup
	t.Cleanup(later.Wait)
	return newServer(t, func(p *peer, f wire.Frame) {
		if f.Type() != wire.Request {
			return
		}
		m := reply(f, f.Content())
		m.Class = string(f.Class())
		frame, err := wire.Append(nil, m)
		if err != nil {
			t.Error(err)
		}
		switch draw(100) {
		case 0:
			_ = p.Close()
		case 1:
			_ = p.Conn.(*net.TCPConn).SetLinger(0)
			_ = p.Close()
		case 2:
			_ = p.write(frame)
			_ = p.Conn.(*net.TCPConn).CloseWrite()
		case 3, 4:
			p.mu.Lock() // keeps other responses from being sent after this one
			_, _ = p.Write(frame[:draw(len(frame))])
			_ = p.Close()
			p.mu.Unlock()
		case 5:
			away, _ := wire.Append(nil, wire.Message{Dialect: f.Dialect(), Type: wire.Request, Command: wire.CommandGoaway})
			_ = p.write(append(away, frame...))
		case 6:
			m.ID += 1 << 30
			_ = p.write(bytes.Repeat(must(wire.Append(nil, m)), 3))
		case 7:
			time.Sleep(time.Duration(draw(20)) * time.Millisecond)
			_ = p.write(frame)
		case 8: // no response
		case 9:
			beat, _ := wire.AppendHeartbeat(nil, f.Dialect(), f.ID())
			_ = p.write(append(beat, frame...))
		default:
			wait := time.Duration(draw(3)) * time.Millisecond
			later.Go(func() {
				time.Sleep(wait)
				_ = p.write(frame)
			})
		}
	})
}

func must(frame []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return frame
}

// randomClient sends some requests together, checks every response, and closes its connection at a random moment.
func randomClient(t *testing.T, addr, name string, random *rand.Rand) (answers int) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	dialect := []wire.Dialect{wire.V1, wire.V2, wire.V2CRC}[random.IntN(3)]
	var sends []byte
	asked := map[uint32][]byte{}
	for id := range uint32(1 + random.IntN(20)) {
		size := random.IntN(2000)
		if random.IntN(12) == 0 {
			size = random.IntN(4 * largeFrame)
		}
		content := append(fmt.Appendf(nil, "%s %d ", name, id), filled(size)...)
		m := call(dialect, id, []string{"plain", "again"}[random.IntN(2)], content)
		switch random.IntN(12) {
		case 0:
			m.Type = wire.Oneway
		case 1:
			m.Command, content = wire.CommandHeartbeat, nil
			asked[id] = content
		case 2:
			m.Timeout = 10 * time.Millisecond
			asked[id] = content
		default:
			asked[id] = content
		}
		sends, _ = wire.Append(sends, m)
	}
	go func(cut, how int) {
		switch how {
		case 0: // closes its side within a request
			_, _ = conn.Write(sends[:cut])
			_ = conn.(*net.TCPConn).CloseWrite()
		case 1: // resets the connection
			_, _ = conn.Write(sends[:cut])
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		case 2:
			_, _ = conn.Write(sends[:cut])
			time.Sleep(2 * time.Millisecond)
			_, _ = conn.Write(sends[cut:])
			_ = conn.(*net.TCPConn).CloseWrite()
		default:
			_, _ = conn.Write(sends)
		}
	}(random.IntN(len(sends)), random.IntN(8))
	if random.IntN(10) == 0 {
		time.Sleep(20 * time.Millisecond) // the client reads late
	}
	for len(asked) > 0 {
		f, err := readFrame(conn)
		if err != nil {
			return answers
		}
		want, ok := asked[f.ID()]
		switch {
		case !ok || f.Type() != wire.Response || f.Dialect() != dialect:
			t.Errorf("%s gets a %v of %d in %v that it has not asked for", name, f.Type(), f.ID(), f.Dialect())
			return answers
		case f.CheckCRC() != nil:
			t.Errorf("%s gets a damaged answer to %d: %v", name, f.ID(), f.CheckCRC())
		case f.Status() == wire.StatusSuccess && !bytes.Equal(f.Content(), want):
			t.Errorf("%s gets %d bytes that begin with %.40q for %d, want the %d it sent", name, len(f.Content()), f.Content(), f.ID(), len(want))
		}
		delete(asked, f.ID())
		answers++
	}
	return answers
}

// TestChaos runs random clients and unreliable servers while plans are replaced. Every response must belong to its
// request. At the end, no connection, request, queue or session may be left.
func TestChaos(t *testing.T) {
	t.Logf("seed %d", chaosSeed)
	for _, portable := range []bool{false, true} {
		t.Run(map[bool]string{false: "system", true: "goroutines"}[portable], func(t *testing.T) {
			t.Parallel()
			servers := []*server{unreliableServer(t, 1), unreliableServer(t, 2), unreliableServer(t, 3)}
			cfg := &Config{Requests: 8, MaxQueued: 4 << 20, CheckCRC: true}
			retry := &route.Retry{On: []route.Cause{route.OnReset, route.OnTimeout, route.OnConnectFailure}, Attempts: 3, Idempotent: true, PerTryTimeout: 100 * time.Millisecond}
			routes := []route.Rule{
				{Name: "again", Match: route.Match{Bolt: route.Bolt{Service: "again"}}, Cluster: "c", Forward: route.Forward{Timeout: time.Second, Retry: retry}},
				{Name: "plain", Cluster: "c", Forward: route.Forward{Timeout: 300 * time.Millisecond}},
			}
			up := cluster("c", servers...)
			up.Endpoints = append(up.Endpoints, upstream.EndpointConfig{Address: "127.0.0.1:1"}) // an address without a listener
			up.Connections, up.Streams, up.Heartbeat = 2, 4, 50*time.Millisecond
			p := start(t, &loop.Config{Loops: 2, Portable: portable}, cfg, routes, up)
			clusters := []*upstream.Cluster{p.use(cfg, nil, routes, up)["c"]}
			var answered atomic.Int64
			var visits sync.WaitGroup
			for i := range uint64(12) {
				visits.Go(func() {
					random := rand.New(rand.NewPCG(chaosSeed, 100+i))
					for j := range 25 {
						answered.Add(int64(randomClient(t, p.addr, fmt.Sprintf("client %d-%d", i, j), random)))
					}
				})
			}
			over := make(chan bool)
			go func() {
				visits.Wait()
				close(over)
			}()
			for swapping := true; swapping; {
				select {
				case <-over:
					swapping = false
				case <-time.After(50 * time.Millisecond):
					past := clusters[len(clusters)-1]
					clusters = append(clusters, p.use(cfg, nil, routes, up)["c"])
					past.Close()
				}
			}
			clusters[len(clusters)-1].Close()
			if answered.Load() == 0 {
				t.Error("nothing was answered")
			}
			t.Logf("%d answers, %d plans", answered.Load(), len(clusters))
			p.empty(clusters...)
		})
	}
}

// empty waits until no connection, request, queue or session is left.
func (p *proxy) empty(clusters ...*upstream.Cluster) {
	p.t.Helper()
	var left string
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		sum, _ := p.group.Stats()
		left = ""
		if sum.Conns+sum.Queues+sum.Unread+p.active() > 0 {
			left = fmt.Sprintf("%+v, %d sessions", sum, p.active())
		}
		for _, c := range clusters {
			s := c.Snapshot()
			n := s.Active + s.Waiting
			for _, e := range s.Endpoints {
				n += e.Active + e.Conns
			}
			if n != 0 {
				left += fmt.Sprintf("\n%+v", s)
			}
		}
		for _, l := range p.metrics.Snapshot().Listeners {
			if l.Connections != 0 {
				left += fmt.Sprintf("\n%d connections of listener %s", l.Connections, l.Name)
			}
		}
		if left == "" {
			return
		}
		if time.Since(began) > patience {
			p.t.Fatalf("left behind: %s", left)
		}
	}
}
