package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// TestResetsOfSeveralClientsHarmNoOther: clients that reset many requests, each as many as a connection may, do not use up what the next
// hop allows the connection that they share. A request of another client that is in flight on it goes on, and so do its next ones.
func TestResetsOfSeveralClientsHarmNoOther(t *testing.T) {
	t.Parallel()
	const attackers, resets = 4, 400 // the next hop closes a connection after 500
	slow, end := make(chan struct{}), make(chan struct{})
	server := proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(slow)
			<-end
		}
		_, _ = io.WriteString(w, "ok")
	})
	cluster := func(name, addr string, protocol upstream.Protocol) upstream.Config {
		c := cluster1(name, addr)
		c.Protocol = protocol
		return c
	}
	hop := start(t, &Config{
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP2, Routes: []route.Rule{{Cluster: "web"}}}},
		Clusters:  []upstream.Config{cluster("web", server, upstream.HTTP1)},
	})
	shared := cluster("hop", at(hop, 0), upstream.HTTP2)
	shared.Outlier = &upstream.Outlier{}
	p := run(t, &Config{
		Loops:     1,
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP2, Routes: []route.Rule{{Cluster: "hop"}}}},
		Clusters:  []upstream.Config{shared},
	})
	url := "http://" + at(p, 0)
	victim := pairingClient(t, true)
	got := make(chan error, 1)
	go func() {
		err := fetch(victim, http.MethodPost, url+"/slow")
		got <- err
	}()
	<-slow
	for i := range attackers {
		resetMany(t, "127.0.0."+string(rune('2'+i)), at(p, 0), resets)
		if err := fetch(victim, http.MethodPost, url+"/"); err != nil {
			t.Errorf("a request after the resets of %d others: %v", i+1, err)
		}
	}
	close(end)
	if err := <-got; err != nil {
		t.Errorf("the request in flight: %v", err)
	}
	if e := p.Snapshot().Clusters[0].Endpoints[0]; e.Ejections > 0 {
		t.Errorf("%d ejections", e.Ejections)
	}
}

// resetMany sends requests and resets each of them at once, on a connection from an address of this machine. It returns when the proxy has
// read them.
func resetMany(t *testing.T, from, to string, n int) {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	var out, block bytes.Buffer
	frames, fields := http2.NewFramer(&out, c), hpack.NewEncoder(&block)
	out.WriteString(http2.ClientPreface)
	write := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	write(frames.WriteSettings())
	for i := range n {
		block.Reset()
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/"}} {
			write(fields.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
		}
		id := uint32(2*i + 1)
		write(frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true}))
		write(frames.WriteRSTStream(id, http2.ErrCodeCancel))
	}
	write(frames.WritePing(false, [8]byte{1}))
	if _, err := c.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := frames.ReadFrame()
		if err != nil {
			t.Fatalf("the proxy ends the connection: %v", err)
		}
		if p, ok := f.(*http2.PingFrame); ok && p.IsAck() {
			return
		}
	}
}

// fetch sends a request and expects the response ok.
func fetch(c *http.Client, method, url string) error {
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		return err
	}
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "ok" {
		return fmt.Errorf("%s: %q, %w", res.Status, body, err)
	}
	return nil
}
