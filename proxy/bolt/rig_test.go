package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/format/all"
	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

const patience = proxytest.Patience

// readFrame reads a whole frame.
func readFrame(r io.Reader) (wire.Frame, error) {
	buf := make([]byte, 0, 256)
	for {
		f, need, err := wire.Next(buf, noLimits)
		if err != nil {
			return f, err
		}
		if need == 0 {
			if need = f.FrameLen(); len(buf) == need {
				return f, nil
			}
		}
		had := len(buf)
		buf = append(buf, make([]byte, need-had)...)
		if _, err := io.ReadFull(r, buf[had:]); err != nil {
			return wire.Frame{}, err
		}
	}
}

// peer is one end of a Bolt connection.
type peer struct {
	net.Conn
	t  testing.TB
	mu sync.Mutex // held during a write
}

func (p *peer) write(frame []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.Write(frame)
	return err
}

// send writes a message.
func (p *peer) send(m wire.Message) {
	p.t.Helper()
	frame, err := wire.Append(nil, m)
	if err == nil {
		err = p.write(frame)
	}
	if err != nil {
		p.t.Errorf("send %v: %v", m.ID, err)
	}
}

// read reads a frame and checks its CRC.
func (p *peer) read() wire.Frame {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	f, err := readFrame(p)
	if err == nil {
		err = f.CheckCRC()
	}
	if err != nil {
		p.t.Fatalf("read: %v", err)
	}
	return f
}

// ends waits until the connection ends.
func (p *peer) ends() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	n, err := io.Copy(io.Discard, p)
	if n > 0 || errors.Is(err, context.DeadlineExceeded) {
		p.t.Fatalf("%d bytes and %v where the connection was to end", n, err)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		p.t.Fatal("the connection stays open")
	}
}

// status reads a response and compares its id and status.
func (p *peer) status(id uint32, want wire.Status) wire.Frame {
	p.t.Helper()
	f := p.read()
	if f.Type() != wire.Response || f.ID() != id || f.Status() != want {
		p.t.Fatalf("%v of %d with status %q, want a response to %d with %q", f.Type(), f.ID(), f.Status(), id, want)
	}
	return f
}

// call returns a request to service.
func call(d wire.Dialect, id uint32, service string, content []byte) wire.Message {
	m := wire.Message{
		Dialect: d, Type: wire.Request, Command: wire.CommandRequest, ID: id, Codec: wire.Hessian2, Timeout: patience,
		Class: "java.lang.String", Header: wire.AppendPair(nil, wire.Service, service), Content: content,
	}
	if d == wire.V2CRC {
		m.Switch = wire.SwitchCRC
	}
	return m
}

// reply returns the response to a request.
func reply(f wire.Frame, content []byte) wire.Message {
	return wire.Message{
		Dialect: f.Dialect(), Type: wire.Response, Command: wire.CommandResponse, ID: f.ID(), Codec: f.Codec(),
		Switch: f.Switch(), Content: content,
	}
}

// server is a Bolt server. It calls handle for each frame, or echo if handle is nil. It acknowledges heartbeats
// itself.
type server struct {
	t      testing.TB
	addr   string
	served atomic.Int64
	conns  atomic.Int64 // number of accepted connections
	handle func(p *peer, f wire.Frame)

	mu    sync.Mutex
	peers []*peer
}

func newServer(t testing.TB, handle func(p *peer, f wire.Frame)) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, addr: ln.Addr().String(), handle: handle}
	if handle == nil {
		s.handle = echo
	}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			p := &peer{Conn: c, t: t}
			s.mu.Lock()
			s.peers = append(s.peers, p)
			s.mu.Unlock()
			done.Go(func() { s.serve(p) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		s.closeAll()
		done.Wait()
	})
	return s
}

func (s *server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.peers {
		_ = p.Close()
	}
}

func (s *server) serve(p *peer) {
	for {
		f, err := readFrame(p)
		if err != nil {
			return
		}
		if err := f.CheckCRC(); err != nil {
			s.t.Errorf("a request arrives damaged: %v", err)
		}
		if f.Command() == wire.CommandHeartbeat {
			_ = p.write(wire.AppendHeartbeatAck(nil, f))
			continue
		}
		s.served.Add(1)
		s.handle(p, f)
	}
}

func echo(p *peer, f wire.Frame) {
	if f.Type() != wire.Request {
		return
	}
	frame, err := wire.Append(nil, reply(f, f.Content()))
	if err != nil {
		p.t.Error(err)
	}
	_ = p.write(frame)
}

// proxy is a Service on its own loops.
type proxy struct {
	t       testing.TB
	group   *loop.Group
	service *Service
	metrics *traffic.Metrics
	addr    string
}

// start starts a proxy with routes and clusters.
func start(t testing.TB, lc *loop.Config, c *Config, routes []route.Rule, clusters ...upstream.Config) *proxy {
	t.Helper()
	if lc == nil {
		lc = &loop.Config{Loops: 1}
	}
	group, err := loop.New(lc)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, group: group, service: New(c, len(group.Loops())), metrics: traffic.NewMetrics(len(group.Loops()))}
	p.use(c, nil, routes, clusters...)
	at, _ := loop.ParseAddr("127.0.0.1:0")
	ln, err := group.Listen(at, p.service.Accept)
	if err != nil {
		t.Fatal(err)
	}
	p.addr = ln.Addr().String()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := group.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		for i := range p.service.loops {
			if n := p.service.loops[i].active; n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		}
	})
	return p
}

// use replaces the plan and returns the new clusters.
func (p *proxy) use(c *Config, log *traffic.Log, routes []route.Rule, clusters ...upstream.Config) map[string]*upstream.Cluster {
	p.t.Helper()
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: routes}}}, all.Formats())
	if err == nil {
		err = CheckRoutes(table)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	made := map[string]*upstream.Cluster{}
	for i := range clusters {
		if made[clusters[i].Name], err = upstream.New(&clusters[i], p.group, slog.New(slog.DiscardHandler)); err != nil {
			p.t.Fatal(err)
		}
	}
	p.service.Use(c, exchange.NewPlan(nil, "test", table, made, p.metrics, log))
	return made
}

// simple starts a proxy that forwards all requests to servers.
func simple(t testing.TB, c *Config, servers ...*server) *proxy {
	t.Helper()
	return start(t, nil, c, []route.Rule{{Name: "all", Cluster: "c"}}, cluster("c", servers...))
}

func cluster(name string, servers ...*server) upstream.Config {
	c := upstream.Config{Name: name}
	for _, s := range servers {
		c.Endpoints = append(c.Endpoints, upstream.EndpointConfig{Address: s.addr})
	}
	return c
}

// dial connects a client.
func (p *proxy) dial() *peer {
	p.t.Helper()
	c, err := net.Dial("tcp", p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() })
	return &peer{Conn: c, t: p.t}
}

// active returns the number of sessions.
func (p *proxy) active() (n int) {
	for i, l := range p.group.Loops() {
		got := make(chan int)
		if err := l.PostWait(context.Background(), func() { got <- p.service.loops[i].active }); err != nil {
			p.t.Fatal(err)
		}
		n += <-got
	}
	return n
}

// filled returns n bytes that depend on their offset.
func filled(n int) []byte {
	b := make([]byte, n+8)
	for at := 0; at < n; at += 8 {
		binary.BigEndian.PutUint64(b[at:], uint64(at)*0x9e3779b97f4a7c15)
	}
	return b[:n]
}

func (p *peer) echoed(f wire.Frame, want []byte) {
	p.t.Helper()
	if !bytes.Equal(f.Content(), want) {
		p.t.Fatalf("%d bytes come back other than the %d that were sent", len(f.Content()), len(want))
	}
}

var dialectNames = map[wire.Dialect]string{wire.V1: "v1", wire.V2: "v2", wire.V2CRC: "v2crc"}

func numbered(i int) []byte { return fmt.Appendf(nil, "number %d", i) }
