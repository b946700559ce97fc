package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/pinned"
)

// clients is the number of connections, each with one request at a time.
const clients = 16

// routeHeader is the header field that a route sets, and that the server returns.
const routeHeader = "X-Route"

// proxy is a running ferry with its server.
type proxy struct {
	routes  int
	addr    string
	process *pinned.Process
	server  *http.Server
	conns   []net.Conn
}

// start starts a proxy with n payload routes, on core 0.
func (e *experiment) start(n int) (*proxy, error) {
	p := &proxy{routes: n}
	if err := p.start(e.dir); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

func (p *proxy) start(programs string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(routeHeader, r.Header.Get(routeHeader))
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = p.server.Serve(l) }()
	admin, err := ferrynode.FreeAddr()
	if err == nil {
		p.addr, err = ferrynode.FreeAddr()
	}
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(programs, "proxy-")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "node.yaml")
	if err := os.WriteFile(file, []byte(p.config(l.Addr().String(), admin)), 0o600); err != nil {
		return err
	}
	if p.process, err = pinned.Start([]int{0}, dir, filepath.Join(programs, ferrynode.Binary), "run", "-c", file); err != nil {
		return err
	}
	if err := ferrynode.WaitReady(admin); err != nil {
		return fmt.Errorf("%w: %s", err, p.process.Output())
	}
	for range clients {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			return err
		}
		p.conns = append(p.conns, c)
	}
	return nil
}

func (p *proxy) config(server, admin string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "admin: {address: %q}\nproxy:\n  listeners:\n    - address: %s\n      protocol: http1\n      routes:\n", admin, p.addr)
	line := func(name, match string) {
		fmt.Fprintf(&b, "        - {name: %s, %scluster: c, forward: {request: {set: [{name: %s, value: %s}]}}}\n", name, match, routeHeader, name)
	}
	for i := range p.routes {
		line(fmt.Sprint("device-", i), fmt.Sprintf("match: {payload: {format: json, where: '%s'}}, ", where(i)))
	}
	line(other, "")
	fmt.Fprintf(&b, "  clusters:\n    - {name: c, endpoints: [{address: %s}]}\n", server)
	return b.String()
}

// run sends requests for a while, and returns how many. A response of another route is an error.
func (p *proxy) run(window time.Duration) (requests int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), window)
	defer cancel()
	var count atomic.Int64
	errs := make([]error, clients)
	var all sync.WaitGroup
	for i, c := range p.conns {
		all.Go(func() {
			in := bufio.NewReader(c)
			for k := i; ctx.Err() == nil && errs[i] == nil; k += clients {
				if errs[i] = p.request(c, in, k); errs[i] == nil {
					count.Add(1)
				}
			}
		})
	}
	all.Wait()
	return int(count.Load()), errors.Join(errs...)
}

// request sends message k and reads the response.
func (p *proxy) request(c net.Conn, in *bufio.Reader, k int) error {
	body := message(k, p.routes)
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	head := fmt.Appendf(nil, "POST /events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	if _, err := c.Write(append(head, body...)); err != nil {
		return err
	}
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if want := routeName(k, p.routes); response.StatusCode != http.StatusNoContent || response.Header.Get(routeHeader) != want {
		return fmt.Errorf("route_payload: %d routes, message %d: status %s, route %q, want %q", p.routes, k, response.Status, response.Header.Get(routeHeader), want)
	}
	return nil
}

func (p *proxy) stop() {
	for _, c := range p.conns {
		_ = c.Close()
	}
	if p.process != nil {
		p.process.Stop()
	}
	if p.server != nil {
		_ = p.server.Close()
	}
}
