package interop

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"example.com/ferry/internal/needs"
)

// runAll runs ferry with a listener for HTTP/1.1 and HTTP/2, and one for both in TLS. secure is the address of the second one.
func runAll(t *testing.T) (f *ferry, secure string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		needs.Missing(t, "all addresses of 127.0.0.0/8", "run on Linux")
	}
	const second = "    - address: 127.0.0.1:18083\n      protocol: http\n      tls: {session_tickets: on}\n      cluster: web\n  clusters:\n"
	mux := paths()
	mux.HandleFunc("/slow", new(inFlight).slow)
	f = run(t, "http2.yaml", map[string]string{"18092": serveGo(t, mux)},
		"protocol: http2 #", "protocol: http #", "  clusters:\n", second, "admin:\n", "data_dir: "+t.TempDir()+"\nadmin:\n")
	return f, f.at("18083")
}

// dialFrom connects from an address of 127.0.0.0/8 that depends on i. Close resets the connection, so its port is free at once.
func dialFrom(ctx context.Context, address string, i int) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(i/200%200), byte(1+i%200))}}
	c, err := d.DialContext(ctx, "tcp", address)
	if err == nil {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.SetDeadline(time.Now().Add(patience))
	}
	return c, err
}

// visits are the ways in which a client uses a connection once.
var visits = []struct {
	name string
	tls  bool
	rare bool // it costs much, so one visit of 16 is of this kind
	do   func(c net.Conn) error
}{
	{name: "nothing", do: func(net.Conn) error { return nil }},
	{name: "a request of HTTP/1.1", do: func(c net.Conn) error { return say(c, "GET /text HTTP/1.1\r\nHost: a\r\n\r\n", 100) }},
	{name: "half of a request of HTTP/1.1", do: func(c net.Conn) error {
		return say(c, "POST /hash HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab", 0)
	}},
	{name: "a request of HTTP/2", do: func(c net.Conn) error { return sayFrames(c, 100, func(w *frameWriter) { w.get("/text") }) }},
	{name: "half of the preface of HTTP/2", do: func(c net.Conn) error { return say(c, http2.ClientPreface[:9], 0) }},
	{name: "requests of HTTP/2 without reading", do: func(c net.Conn) error {
		return sayFrames(c, 0, times(5, func(w *frameWriter) { w.get("/bytes?n=100000"); w.post("/slow") }))
	}},
	{name: "misuse of HTTP/2", do: func(c net.Conn) error {
		return sayFrames(c, 9, func(w *frameWriter) { _ = w.WriteData(7, false, nil) })
	}},
	{name: "half of a ClientHello", tls: true, do: func(c net.Conn) error { return say(c, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 0) }},
	{name: "cleartext to TLS", tls: true, do: func(c net.Conn) error { return say(c, "GET / HTTP/1.1\r\n\r\n", 7) }},
	{name: "a request in TLS", tls: true, rare: true, do: func(c net.Conn) error {
		s := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) // ferry's own CA, made for this test
		return sayFrames(s, 100, func(w *frameWriter) { w.get("/text") })
	}},
	{name: "a handshake that the client leaves", tls: true, rare: true, do: func(c net.Conn) error {
		return tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake()
	}},
}

// say sends text and reads n bytes at least.
func say(c net.Conn, text string, n int) error {
	if _, err := io.WriteString(c, text); err != nil || n == 0 {
		return err
	}
	_, err := io.ReadAtLeast(c, make([]byte, 4096), n)
	return err
}

// sayFrames sends frames of HTTP/2 and reads n bytes at least.
func sayFrames(c net.Conn, n int, write func(w *frameWriter)) error {
	w := newFrameWriter()
	w.out.WriteString(http2.ClientPreface)
	_ = w.WriteSettings()
	write(w)
	return say(c, w.out.String(), n)
}

// TestLeaks opens and closes many connections in many ways. Afterwards the process has no goroutine, descriptor, connection or
// memory of them.
func TestLeaks(t *testing.T) {
	needFiles(t)
	f, secure := runAll(t)
	honest := newHonest2(t, f.url("18082"))
	var done, failed atomic.Int64
	visit := func(n int) {
		var all sync.WaitGroup
		next := new(atomic.Int64)
		for range 8 {
			all.Go(func() {
				for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
					v := visits[i%len(visits)]
					if v.rare && i%16 != 0 {
						v = visits[0]
					}
					address := f.at("18082")
					if v.tls {
						address = secure
					}
					c, err := dialFrom(t.Context(), address, i)
					if err == nil {
						err = v.do(c)
						c.Close()
					}
					if done.Add(1); err != nil && failed.Add(1) < 10 {
						t.Errorf("%s: %v", v.name, err)
					}
				}
			})
		}
		all.Wait()
	}
	visit(2000) // pools grow to their usual size
	honest.ask(40)
	before := f.usage()
	done.Store(0)
	begun := time.Now()
	reported := begun
	for done.Load() < leakVisits() {
		visit(int(min(leakVisits(), 10_000)))
		honest.ask(40)
		if time.Since(reported) > 30*time.Second {
			reported = time.Now()
			t.Logf("%d connections after %.0f s: %v, %d MiB of memory", done.Load(), time.Since(begun).Seconds(), f.usage(), f.memory())
		}
	}
	t.Logf("%d connections in %.1f s, %d MiB of memory", done.Load(), time.Since(begun).Seconds(), f.memory())
	f.settles(before, 4<<20)
}

// TestMixedLoad: clients of all kinds use the proxy for a long time, honest and hostile ones. The memory stays flat.
func TestMixedLoad(t *testing.T) {
	f, secure := runAll(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var requests atomic.Int64
	for range 2 {
		honest := newHonest2(t, f.url("18082"))
		all.Go(func() {
			for ctx.Err() == nil {
				honest.ask(20)
				requests.Add(20)
				time.Sleep(beat)
			}
		})
	}
	over := newHonestTLS(t, secure)
	all.Go(func() {
		for ctx.Err() == nil {
			over.ask(20)
			requests.Add(20)
			time.Sleep(beat)
		}
	})
	download := client(t)
	all.Go(func() {
		for ctx.Err() == nil {
			if got := len(body(t, download, "GET", f.url("18082")+"/bytes?n=1000000", nil)); got != 1_000_000 {
				t.Errorf("%d bytes of 1,000,000", got)
			}
			requests.Add(1)
			time.Sleep(10 * beat)
		}
	})
	for g := range 2 {
		all.Go(func() {
			for i := g; ctx.Err() == nil; i++ {
				v := visits[i%len(visits)]
				address := f.at("18082")
				if v.tls {
					address = secure
				}
				if c, err := dialFrom(ctx, address, i); err == nil {
					_ = v.do(c) // ctx may end it
					c.Close()
				}
				time.Sleep(beat)
			}
		})
	}
	for _, attack := range []flood{
		{pause: 10 * beat, more: canceled(func(w *frameWriter) { _ = w.WriteRSTStream(w.id, http2.ErrCodeCancel) })},
		{pause: 100 * beat, settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1000}}, more: func(w *frameWriter) { w.get("/bytes?n=100000"); _ = w.WriteWindowUpdate(w.id, 2000) }},
	} {
		all.Go(func() {
			attack.run(ctx, 1, func(ctx context.Context, i int) (net.Conn, error) { return dialFrom(ctx, f.at("18082"), i) }, newEndings())
		})
	}
	var heap, memory []int
	for begun := time.Now(); time.Since(begun) < mixedTime() || len(heap) < 8; {
		time.Sleep(min(30*time.Second, mixedTime()/8))
		u := f.usage()
		heap, memory = append(heap, u.heap), append(memory, f.memory())
		t.Logf("%4.0f s: %v, %d MiB of memory, %d requests", time.Since(begun).Seconds(), u, memory[len(memory)-1], requests.Load())
	}
	cancel()
	all.Wait()
	middle := len(heap) / 2
	if early, late := most(heap[:middle]), most(heap[middle:]); late > early+8<<20 {
		t.Errorf("the heap grew from %d to %d KiB", early>>10, late>>10)
	}
	if early, late := most(memory[:middle]), most(memory[middle:]); late > early+16 {
		t.Errorf("the memory grew from %d to %d MiB", early, late)
	}
}

func most(values []int) (n int) {
	for _, v := range values {
		n = max(n, v)
	}
	return n
}
