package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/bench/internal/routeproxy"
	"example.com/ferry/bench/internal/routeset"
)

// trial is a started proxy with its client and its server.
type trial struct {
	set     routeset.Set // that of the last reload
	next    []nextSet    // of the next reloads
	setup   httpproxy.Setup
	backend *pinned.Process
	proxy   *routeproxy.Running
	client  *keepalive.Client
}

func (e *experiment) start(p routeproxy.Proxy, count int) (*trial, error) {
	t := &trial{set: routeset.Set{Kind: routeset.HostPrefix, Count: count, Version: 1}}
	if err := t.start(p, e.dir); err != nil {
		t.stop()
		return nil, err
	}
	return t, nil
}

func (t *trial) start(p routeproxy.Proxy, dir string) (err error) {
	at, err := keepalive.FreeAddrs(3)
	if err != nil {
		return err
	}
	if t.backend, err = keepalive.StartBackend([]int{1}, keepalive.Routed, 0, at[0]); err != nil {
		return err
	}
	t.setup = httpproxy.Setup{Cores: []int{0}, Workers: 1, Upstream: at[0], Listen: at[1], Admin: at[2]}
	if t.setup.Dir, err = os.MkdirTemp(dir, "proxy-"); err != nil {
		return err
	}
	if t.proxy, err = p.Start(t.setup, t.set); err != nil {
		return err
	}
	if _, err := t.waitFor(t.set, 0); err != nil {
		return err
	}
	if err := t.connect(); err != nil {
		return err
	}
	_, err = t.client.Run(keepalive.Load{Rate: rate, Window: 100 * time.Millisecond})
	return err
}

// connect starts another client.
func (t *trial) connect() (err error) {
	if t.client != nil {
		t.client.End()
	}
	t.client, err = keepalive.StartClient(keepalive.Spec{Wire: keepalive.Routed, Addr: t.setup.Listen, Conns: conns, Routes: t.set, Cores: []int{1}})
	return err
}

// stop ends what was started, and removes the files.
func (t *trial) stop() {
	if t.client != nil {
		t.client.End()
	}
	if t.proxy != nil {
		t.proxy.Stop()
	}
	if t.backend != nil {
		t.backend.Stop()
	}
	if t.setup.Dir != "" {
		_ = os.RemoveAll(filepath.Clean(t.setup.Dir))
	}
}

// nextSet is a set of routes whose files are made.
type nextSet struct {
	set   routeset.Set
	files routeproxy.Prepared
}

// prepare makes the files of the next reloads. It takes CPU time that the client would lack.
func (t *trial) prepare(reloads int) {
	set := t.set
	for range reloads {
		set.Version++
		t.next = append(t.next, nextSet{set, t.proxy.Prepare(set)})
	}
}

// rest is how long a proxy may take to end its old processes, or to collect its garbage, after a reload.
const rest = 200 * time.Millisecond

// idleReloads returns the means of reloads without load, in milliseconds.
func (t *trial) idleReloads() (wall, cpu float64, err error) {
	var took, used time.Duration
	for range reloads {
		one, cpu, err := t.reload(rest)
		if err != nil {
			return 0, 0, err
		}
		took, used = took+one, used+cpu
	}
	return ms(took) / reloads, ms(used) / reloads, nil
}

// reload replaces the prefix of the last route, and returns how long that took and which CPU time the proxy used until a rest after it. If
// the proxy lost the signal, both count from the last one.
func (t *trial) reload(rest time.Duration) (took, cpu time.Duration, err error) {
	if len(t.next) == 0 {
		t.prepare(1)
	}
	old, prepared := t.set, t.next[0].files
	t.set, t.next = t.next[0].set, t.next[1:]
	for attempt := range attempts {
		before, err := t.proxy.CPUWithEnded()
		if err != nil {
			return 0, 0, err
		}
		began := time.Now()
		if err := prepared.Apply(); err != nil {
			return 0, 0, err
		}
		at, err := t.waitFor(t.set, old.Version)
		if errors.Is(err, errLate) {
			fmt.Fprintf(os.Stderr, "reload: attempt %d: %v\n", attempt+1, err)
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		time.Sleep(rest)
		after, err := t.proxy.CPUWithEnded()
		return at.Sub(began), after - before, err
	}
	return 0, 0, fmt.Errorf("%w after %d attempts", errLate, attempts)
}

// attempts bounds how often a reload is tried: the master of HAProxy loses a signal that comes while it starts a worker.
const attempts = 6

var errLate = errors.New("the new routes do not count")

const (
	agreeing = 5 // pairs of requests that have to agree: old and new processes may accept connections for a while
	patience = 10 * time.Second
)

var pause = unix.Timespec{Nsec: 500_000}

// waitFor waits until the last route of a set takes requests, and those of another version of it get 404, and returns when
// that was first so.
func (t *trial) waitFor(set routeset.Set, other int) (first time.Time, err error) {
	was := set
	was.Version = other
	last, count := set.Count-1, 0
	for deadline := time.Now().Add(patience); count < agreeing; {
		is, err := t.get(set.Host(last), set.Prefix(last))
		if err != nil {
			return first, err
		}
		now := is == set.Name(last)+" "+set.Prefix(last)
		if now && other != 0 {
			gone, err := t.get(was.Host(last), was.Prefix(last))
			if err != nil {
				return first, err
			}
			now = gone == notFound
		}
		switch {
		case !now && time.Now().After(deadline):
			return first, fmt.Errorf("%w after %v: %q; the proxy says %s", errLate, patience, is, t.proxy.Output())
		case !now:
			count = 0
		case count == 0:
			first = time.Now()
			count++
		default:
			count++
		}
		if err := unix.Nanosleep(&pause, nil); err != nil && !errors.Is(err, unix.EINTR) { // time.Sleep takes a millisecond
			return first, err
		}
	}
	return first, nil
}

// notFound stands for a response with status 404.
const notFound = "404"

// get sends a request on a connection of its own, and returns the body. A proxy that closes a connection without a response is about to end:
// that counts as a response of the old routes.
func (t *trial) get(host, path string) (string, error) {
	c, err := net.Dial("tcp", t.setup.Listen)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host); err != nil {
		return "", nil //nolint:nilerror // see above
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", nil //nolint:nilerror // see above
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNotFound {
		return notFound, nil
	}
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
