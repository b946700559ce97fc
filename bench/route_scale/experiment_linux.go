package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/keypair"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/bench/internal/proxytrial"
	"example.com/ferry/bench/internal/routeproxy"
	"example.com/ferry/bench/internal/routeset"
)

// experiment is the state that all measurements of a run share.
type experiment struct {
	counts  []int
	proxies []routeproxy.Proxy
	notes   []string
	dir     string // has the programs' directories
}

// newExperiment has the rows whose programs are installed.
func newExperiment(counts []int) *experiment {
	e := &experiment{counts: counts}
	e.proxies, e.notes = routeproxy.All(binary)
	return e
}

// binary is the path of ferry from the directory of a proxy.
var binary = filepath.Join("..", ferrynode.Binary)

func (e *experiment) prepare(dir string) error {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	e.dir = dir
	return ferrynode.Build(dir)
}

// load is that of a set of routes. The size of bodies follows from the routes.
func load(set routeset.Set) proxytrial.Load {
	return proxytrial.Load{
		Down: keepalive.Routed, Up: keepalive.Routed, Conns: 100, Routes: set, Hops: 1, Proxy: []int{0}, Ends: []int{1},
	}
}

func starter(p routeproxy.Proxy, set routeset.Set) proxytrial.Starter {
	return func(s httpproxy.Setup) (*pinned.Process, error) {
		r, err := p.Start(s, set)
		if err != nil {
			return nil, err
		}
		return r.Process, nil
	}
}

// each calls do for each case.
func (e *experiment) each(do func(name string, set routeset.Set) error) error {
	for _, kind := range kinds {
		for _, n := range e.counts {
			if err := do(caseName(kind, n), routeset.Set{Kind: kind, Count: n}); err != nil {
				return err
			}
		}
	}
	return nil
}

// open starts a row in a case.
func (e *experiment) open(p routeproxy.Proxy) func(string) (harness.Session, error) {
	return func(name string) (s harness.Session, err error) {
		err = e.each(func(this string, set routeset.Set) (err error) {
			if this == name {
				s, err = proxytrial.Open(load(set), starter(p, set), e.dir, keypair.Files{})
			}
			return err
		})
		return s, err
	}
}

// checkRoutes runs every row briefly in every case.
func (e *experiment) checkRoutes() error {
	return e.each(func(name string, set routeset.Set) error {
		for _, p := range e.proxies {
			if err := e.check(starter(p, set), set); err != nil {
				return fmt.Errorf("%s, %s: %w", p.Name, name, err)
			}
		}
		return nil
	})
}

// check sends requests of set to a proxy.
func (e *experiment) check(start proxytrial.Starter, set routeset.Set) error {
	l := load(set)
	l.Conns, l.Warm = 10, 20*time.Millisecond
	t, err := proxytrial.Start(l, start, e.dir, keypair.Files{})
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.Check(50 * time.Millisecond); err != nil {
		return err
	}
	last := set.Count - 1
	for _, other := range []struct{ host, path, tenant string }{
		{"unknown.example.com", set.Prefix(last), set.HeaderValue(last)},
		{set.Host(last), "/unknown/", "unknown"},
	} {
		status, err := get(t.Addr(), other.host, other.path, other.tenant)
		if err != nil {
			return err
		}
		if status != http.StatusNotFound {
			return fmt.Errorf("a request that no route matches, %+v: status %d, want 404", other, status)
		}
	}
	return nil
}

// get sends a request on a connection of its own.
func get(addr, host, path, tenant string) (status int, err error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n%s: %s\r\nConnection: close\r\n\r\n", path, host, routeset.HeaderName, tenant); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
