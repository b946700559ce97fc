package attacker

import (
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"example.com/ferry/bench/internal/keepalive"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// Each attack reaches a server of net/http: it opens connections, and is not refused for its first bytes.
func TestAttacks(t *testing.T) {
	a, err := keepalive.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", a[0])
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Protocols: protocols, ReadHeaderTimeout: time.Minute, Handler: http.NotFoundHandler()}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	for _, kind := range Kinds {
		t.Run(string(kind), func(t *testing.T) {
			p, err := Start(nil, Spec{Kind: kind, Addr: a[0], From: "127.0.0.2"})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Stop()
			plan := plans[kind]
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(reportEvery) {
				c, err := Counted(p)
				if err == nil && c.Opened > 0 && (c.Operations > 0 || plan.chunk == nil) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("got %+v, %v", c, err)
				}
			}
		})
	}
	if _, err := Start(nil, Spec{Kind: "fork bomb"}); err == nil {
		t.Error("an attack that does not exist is no error")
	}
}

// The attacker follows the protocol: net/http serves a request that it makes.
func TestRequest(t *testing.T) {
	f := newWriter(keepalive.Body(bodySize))
	start()(f)
	f.request(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan int64, 1)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Protocols: protocols, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		served <- r.ContentLength
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := f.out.WriteTo(conn); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-served:
		if n != bodySize {
			t.Errorf("a body of %d bytes, want %d", n, bodySize)
		}
	case <-time.After(time.Minute):
		t.Error("the request was not served")
	}
}
