package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// chaoticServer repeats the path of a request many times, and has it in a trailer. At random it responds before it has read
// the request, breaks off, pauses, or closes the connection behind the response, with GOAWAY in HTTP/2.
func chaoticServer(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if rand.IntN(20) == 0 {
		h.Set("Connection", "close")
	}
	if rand.IntN(4) > 0 {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || r.ContentLength >= 0 && n != r.ContentLength {
			panic(http.ErrAbortHandler)
		}
	}
	if rand.IntN(20) == 0 {
		panic(http.ErrAbortHandler)
	}
	// Not in HTTP/2: if the client has reset the stream, net/http still reads the header fields after WriteHeader(103) has returned.
	if r.ProtoMajor == 1 && rand.IntN(10) == 0 {
		w.WriteHeader(103)
	}
	h.Set("Trailer", "X-Path")
	for range rand.IntN(20) {
		if _, err := io.WriteString(w, strings.Repeat(r.URL.Path, rand.IntN(2000))); err != nil {
			return
		}
		switch rand.IntN(100) {
		case 0:
			panic(http.ErrAbortHandler)
		case 1:
			time.Sleep(time.Millisecond)
		case 2:
			w.(http.Flusher).Flush()
		}
	}
	w.(http.Flusher).Flush()
	h.Set("X-Path", r.URL.Path)
}

// TestPairingsChaos sends requests through all pairings of HTTP/1.1 and HTTP/2 at once, with servers and clients that
// behave at random. Each response must belong to its request. At the end, nothing may be left.
func TestPairingsChaos(t *testing.T) {
	t.Parallel()
	small := &http.HTTP2Config{MaxConcurrentStreams: 20, MaxReceiveBufferPerStream: 1 << 15, MaxReceiveBufferPerConnection: 1 << 17}
	one, two := cluster1("one", proxytest.ServeHTTP(t, chaoticServer)), cluster1("two", proxytest.ServeHTTP2(t, small, chaoticServer))
	two.Protocol, two.Connections = upstream.HTTP2, 2
	one.IdleTimeout, two.IdleTimeout = proxytest.Brief, proxytest.Brief
	rules := []route.Rule{
		{Name: "one", Match: route.Match{Prefix: "/one"}, Cluster: "one"},
		{Name: "two", Match: route.Match{Prefix: "/two"}, Cluster: "two", Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnReset, route.OnRefusedStream}}}},
	}
	p := start(t, &Config{
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP, Routes: rules}},
		Clusters:  []upstream.Config{one, two},
	})
	var clients []*http.Client
	var whole, broken atomic.Int64
	var all sync.WaitGroup
	for client := range 16 {
		c := pairingClient(t, client%2 == 0)
		clients = append(clients, c)
		all.Go(func() {
			for i := range 30 {
				path := fmt.Sprintf("/%s/%d-%d/", []string{"one", "two"}[rand.IntN(2)], client, i)
				if err := chaoticClient(t, c, "http://"+at(p, 0), path); err == nil {
					whole.Add(1)
				} else {
					broken.Add(1)
				}
			}
		})
	}
	all.Wait()
	if whole.Load() < 100 || broken.Load() == 0 {
		t.Errorf("%d responses are complete, %d are not: want both", whole.Load(), broken.Load())
	}
	proxytest.Eventually(t, "nothing is left", func() bool {
		for _, c := range clients {
			c.CloseIdleConnections() // a connection that no request waits for any more becomes idle late
		}
		s, left := p.Snapshot(), int64(0)
		for _, c := range s.Clusters {
			left += c.Active + c.Waiting + c.Endpoints[0].Conns
		}
		for _, l := range s.Traffic.Listeners {
			left += int64(l.Connections)
		}
		for _, l := range s.Loops {
			left += int64(l.Queues + l.Unread)
		}
		return left == 0
	})
}

// errStatus is the error of chaoticClient for a response of the proxy's own.
var errStatus = errors.New("the proxy has responded itself")

// chaoticClient sends a request and reads the response. It may give up at any time. The error is nil if the response is
// complete.
func chaoticClient(t *testing.T, c *http.Client, url, path string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var body io.Reader
	method := "GET"
	if rand.IntN(2) == 0 {
		method = []string{"POST", "PUT"}[rand.IntN(2)]
		body = bytes.NewReader(make([]byte, rand.IntN(200_000)))
		if rand.IntN(2) == 0 {
			body = io.MultiReader(body) // of unknown length
		}
	}
	if rand.IntN(10) == 0 {
		time.AfterFunc(time.Duration(rand.IntN(5000))*time.Microsecond, cancel)
	}
	req, err := http.NewRequestWithContext(ctx, method, url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return errStatus
	}
	var got []byte
	piece := make([]byte, 1+rand.IntN(30_000))
	for err == nil {
		var n int
		n, err = resp.Body.Read(piece)
		got = append(got, piece[:n]...)
		if rand.IntN(50) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	complete := errors.Is(err, io.EOF)
	if rest := strings.ReplaceAll(string(got), path, ""); rest != "" && (complete || !strings.HasPrefix(path, rest)) {
		t.Errorf("%s got bytes of another request: %.100q", path, rest)
	}
	if !complete {
		return err
	}
	if trailer := resp.Trailer.Get("X-Path"); trailer != path {
		t.Errorf("%s has the trailer %q", path, trailer)
	}
	return nil
}
