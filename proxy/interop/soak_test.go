package interop

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// soaker is a client of one pairing. It sends random requests, one after another.
type soaker struct {
	pairing
	client *http.Client
	base   string
	server *soakServer
	tally  *soakTally
}

// soakTally counts what soakers see.
type soakTally struct {
	mu       sync.Mutex
	complete map[string]int // requests by kind that went as they should
	excused  map[string]int // requests that failed while their server was interrupted
	wrong    []string       // everything else
}

func (s *soakTally) count(kind string, excused bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.complete[kind]++
	case excused:
		s.excused[kind]++
	case len(s.wrong) < 20:
		s.wrong = append(s.wrong, fmt.Sprintf("%s: %v", kind, err))
	}
}

// errWrong says that a response was complete and not the right one. No interruption excuses it.
var errWrong = errors.New("wrong response")

// run sends requests until ctx ends. A request that has begun gets its time.
func (s *soaker) run(ctx context.Context) {
	kinds := []struct {
		name string
		do   func(context.Context) error
	}{
		{"echo", s.echo},
		{"echo", s.echo},
		{"slow upload", s.upload},
		{"download", s.download},
		{"slow download", s.slowDownload},
		{"early response", s.early},
		{"no content", s.noContent},
		{"response that breaks off", s.abort},
		{"client that leaves", s.leave},
		{"client that leaves before the response", s.leaveWaiting},
	}
	for ctx.Err() == nil {
		kind := kinds[rand.N(len(kinds))]
		begun := time.Now()
		request, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		var way journey
		err := kind.do(way.trace(request))
		if late := request.Err(); late != nil {
			err = fmt.Errorf("%w: stuck for %v: %w: %v", errWrong, patience, cmp.Or(err, late), &way)
		}
		cancel()
		s.tally.count(kind.name, !errors.Is(err, errWrong) && s.server.disturbed(begun), wrap(s.pairing, err))
	}
}

func wrap(p pairing, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return nil
}

// send sends a request. The status of the response must be want.
func (s *soaker) send(ctx context.Context, method, path string, content io.Reader, want int) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, content)
	if err != nil {
		return nil, err
	}
	if method == "POST" {
		r.Trailer = http.Header{"X-Client": {path}}
		r.ContentLength = -1
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != want {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 100))
		resp.Body.Close()
		return nil, fmt.Errorf("status %d %s, want %d", resp.StatusCode, said, want)
	}
	return resp, nil
}

// content returns a number of bytes with a random order of magnitude.
func content() []byte {
	n := 1 + rand.N(1<<(4+rand.N(15))) // net/http sends no trailers after an empty body
	from := rand.N(len(block) - n)
	return block[from : from+n]
}

func (s *soaker) echo(ctx context.Context) error {
	sent := content()
	path := fmt.Sprintf("/echo?n=%d", len(sent))
	resp, err := s.send(ctx, "POST", path, bytes.NewReader(sent), http.StatusOK)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("after %d of %d bytes: %w", len(got), len(sent), err)
	}
	if !bytes.Equal(got, sent) {
		return fmt.Errorf("%w: %d bytes of %d, or others", errWrong, len(got), len(sent))
	}
	if hash := fmt.Sprintf("%x", sha256.Sum256(sent)); resp.Trailer.Get("X-Hash") != hash || resp.Trailer.Get("X-Client") != path {
		return fmt.Errorf("%w: trailers %v", errWrong, resp.Trailer)
	}
	return nil
}

func (s *soaker) upload(ctx context.Context) error {
	sent := content()
	resp, err := s.send(ctx, "PUT", "/slow", bytes.NewReader(sent), http.StatusOK)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err == nil && string(got) != fmt.Sprintf("%x", sha256.Sum256(sent)) {
		err = fmt.Errorf("%w: hash %s", errWrong, got)
	}
	return err
}

func (s *soaker) download(ctx context.Context) error { return s.receive(ctx, 0) }

func (s *soaker) slowDownload(ctx context.Context) error {
	return s.receive(ctx, rand.N(3*time.Millisecond))
}

// receive downloads a body with a pause after each piece.
func (s *soaker) receive(ctx context.Context, pause time.Duration) error {
	n := int64(rand.N(1 << (4 + rand.N(16))))
	resp, err := s.send(ctx, "GET", fmt.Sprintf("/down?n=%d", n), nil, http.StatusOK)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var got bytes.Buffer
	for {
		if _, err := io.CopyN(&got, resp.Body, 10_000); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("after %d of %d bytes: %w", got.Len(), n, err)
		}
		time.Sleep(pause)
	}
	if want := block[:n]; !bytes.Equal(got.Bytes(), want) {
		return fmt.Errorf("%w: %d bytes of %d, or others", errWrong, got.Len(), n)
	}
	return nil
}

func (s *soaker) early(ctx context.Context) error {
	resp, err := s.send(ctx, "PUT", "/early", bytes.NewReader(content()), http.StatusRequestEntityTooLarge)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err == nil && string(got) != "early" {
		err = fmt.Errorf("%w: %q", errWrong, got)
	}
	return err
}

func (s *soaker) noContent(ctx context.Context) error {
	resp, err := s.send(ctx, "GET", "/204", nil, http.StatusNoContent)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func (s *soaker) abort(ctx context.Context) error {
	resp, err := s.send(ctx, "GET", fmt.Sprintf("/abort?n=%d", rand.N(100_000)), nil, http.StatusOK)
	if err != nil {
		return nil // the connection broke before the head was sent
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err == nil {
		return fmt.Errorf("%w: it ends after %d bytes without an error", errWrong, n)
	}
	return nil
}

// leave ends a request at a random point.
func (s *soaker) leave(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, rand.N(20*time.Millisecond))
	defer cancel()
	path := []string{"/echo", "/slow", fmt.Sprintf("/down?n=%d", rand.N(1<<20))}[rand.N(3)]
	r, err := http.NewRequestWithContext(within, "PUT", s.base+path, bytes.NewReader(content()))
	if err != nil {
		return err
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil // it left
	}
	_, _ = io.CopyN(io.Discard, resp.Body, rand.N[int64](200_000))
	return resp.Body.Close() // the rest of the body is not read
}

// leaveWaiting leaves while the server prepares its response.
func (s *soaker) leaveWaiting(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, rand.N(20*time.Millisecond))
	defer cancel()
	if resp, err := s.send(within, "GET", "/wait", nil, http.StatusOK); err == nil {
		resp.Body.Close()
		return fmt.Errorf("%w: a response", errWrong)
	}
	return nil
}

// TestSoak mixes requests over all pairings of versions for a while: resets at random points, trailers, slow readers, small windows,
// early responses, responses that break off, GOAWAY from servers and from ferry, and servers that restart. Every complete response
// is right, every request ends, and a request fails only while its server is interrupted. Afterwards nothing is left of it.
func TestSoak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("descriptors and memory are measured on Linux only")
	}
	a := newAuthority(t)
	pair := a.Issue(t, local).TLS(t)
	servers := map[string]*soakServer{
		"http1":     newSoakServer(t, "http1", nil),
		"http2":     newSoakServer(t, "http2", nil),
		"http2-tls": newSoakServer(t, "", &pair),
	}
	var origins []origin
	for _, name := range []string{"http1", "http2", "http2-tls"} {
		origins = append(origins, origin{name: name, address: servers[name].address, protocol: name[:5], tls: name == "http2-tls"})
	}
	g := a.gateway(t, "http", origins, "http1: {max_requests: 300}")

	ctx, cancel := context.WithCancel(t.Context())
	var serving, ready sync.WaitGroup
	for _, s := range servers {
		ready.Add(1)
		serving.Go(func() { s.run(ctx, t, soakInterruption, ready.Done) })
	}
	defer serving.Wait()
	defer cancel()
	ready.Wait()

	tally := &soakTally{complete: map[string]int{}, excused: map[string]int{}}
	soak := func(d time.Duration) {
		clients, done := context.WithTimeout(ctx, d)
		defer done()
		var all sync.WaitGroup
		for name, s := range servers {
			for _, version := range []string{"http1", "http2"} {
				for _, overTLS := range []bool{false, true} {
					c := a.client(t, version)
					for range 4 {
						k := &soaker{pairing{version, overTLS, name}, c, g.base(name, overTLS), s, tally}
						all.Go(func() { k.run(clients) })
					}
					defer c.CloseIdleConnections()
				}
			}
		}
		all.Wait()
	}
	soak(soakTime / 5)
	g.waitIdle()
	first := g.footprint()
	soak(soakTime - soakTime/5)
	g.waitIdle()
	last := g.footprint()

	for name, s := range servers {
		for deadline := time.Now().Add(patience); s.handlers.Load() > 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d requests of clients that left are still in progress", name, s.handlers.Load())
			}
		}
	}
	t.Logf("complete %v, while servers restart %v", tally.complete, tally.excused)
	t.Logf("at first %v, at last %v", first, last)
	if len(tally.wrong) > 0 {
		t.Errorf("wrong:\n%s", strings.Join(tally.wrong, "\n"))
	}
	if len(tally.complete) < 9 {
		t.Errorf("complete %v, want requests of all kinds", tally.complete)
	}
	if last.goroutines > first.goroutines+10 || last.descriptors > first.descriptors+10 || last.memory > first.memory+max(16, first.memory/2) {
		t.Errorf("at first %v, at last %v: want no growth", first, last)
	}
}

// footprint is what a process holds.
type footprint struct {
	goroutines, descriptors int // without those of connections to servers
	memory                  int // MiB
}

func (p footprint) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d MiB", p.goroutines, p.descriptors, p.memory)
}

// footprint measures the gateway without clients.
func (g *gateway) footprint() footprint {
	g.t.Helper()
	m := g.metrics(adminPort)
	kept := int(counter(m, "ferry_upstream_connections", ""))
	p := footprint{goroutines: int(m["go_goroutines"]), memory: g.memory()}
	if files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.pid)); err == nil {
		p.descriptors = len(files) - kept
	}
	return p
}
