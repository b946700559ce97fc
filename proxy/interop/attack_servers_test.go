package interop

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// serveHostile starts a server of HTTP/2 that sends what first and more write, more again and again, once the first request of a
// connection has arrived. e counts how the proxy ends the connections.
func serveHostile(t *testing.T, first, more func(w *frameWriter), e *endings) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { c.Close() })()
				misbehave(ctx, c, first, more, e)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		ln.Close()
		all.Wait()
	})
	return ln.Addr().String()
}

// misbehave serves one connection.
func misbehave(ctx context.Context, c net.Conn, first, more func(w *frameWriter), e *endings) {
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	w := newFrameWriter()
	_ = w.WriteSettings()
	if _, err := c.Write(w.out.Bytes()); err != nil {
		return
	}
	framer := http2.NewFramer(io.Discard, c)
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			return
		}
		if f.Header().Type == http2.FrameHeaders {
			w.id = f.Header().StreamID
			break
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.read(ctx, c)
	}()
	w.out.Reset()
	if first != nil {
		first(w)
	}
	for more != nil && !isClosed(ended) {
		more(w)
		if _, err := c.Write(w.out.Bytes()); err != nil {
			break
		}
		w.out.Reset()
	}
	_, _ = c.Write(w.out.Bytes()) // the proxy may have closed the connection
	<-ended
}

// respond writes the head of a response.
func (w *frameWriter) respond(status string, end bool) {
	block := w.encode(":status", status)
	_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: w.id, BlockFragment: block, EndHeaders: true, EndStream: end})
}

// TestAttackFromServers: servers of HTTP/2 misuse the protocol. Their clients get an error in time, clients of other servers get all
// their responses, and the proxy holds what it held before.
func TestAttackFromServers(t *testing.T) {
	const (
		calm     = http2.ErrCodeEnhanceYourCalm
		protocol = http2.ErrCodeProtocol
	)
	big := strings.Repeat("x", 10_000)
	for _, row := range []struct {
		name        string
		first, more func(w *frameWriter)
		status      int           // of the response; 0: it breaks off
		code        http2.ErrCode // of the proxy's GOAWAY; 0: any
	}{
		{name: "PING", more: times(100, func(w *frameWriter) { _ = w.WritePing(false, [8]byte{}) }), status: 502, code: calm},
		{name: "SETTINGS", more: times(100, func(w *frameWriter) { _ = w.WriteSettings() }), status: 502, code: calm},
		{name: "PRIORITY", more: times(100, func(w *frameWriter) { _ = w.WritePriority(3, http2.PriorityParam{StreamDep: 1}) }), status: 502, code: calm},
		{name: "WINDOW_UPDATE of 1", more: times(100, func(w *frameWriter) { _ = w.WriteWindowUpdate(0, 1) }), status: 502, code: calm},
		{name: "empty DATA", first: func(w *frameWriter) { w.respond("200", false) }, more: times(100, func(w *frameWriter) { _ = w.WriteData(w.id, false, nil) }), code: calm},
		{name: "interim responses", more: times(100, func(w *frameWriter) { w.respond("103", false) }), status: 502, code: calm},
		{name: "CONTINUATION", first: func(w *frameWriter) {
			_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: w.id, BlockFragment: w.encode(":status", "200")})
		}, more: func(w *frameWriter) { _ = w.WriteContinuation(w.id, false, w.encode("x", big)) }, status: 502, code: calm},
		{name: "a huge head", first: func(w *frameWriter) {
			_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: w.id, BlockFragment: w.encode(":status", "200", "x", big)})
			for range 8 {
				_ = w.WriteContinuation(w.id, false, w.encode("x", big+"y"))
			}
			_ = w.WriteContinuation(w.id, true, nil)
		}, status: 502},
		{name: "PUSH_PROMISE", first: func(w *frameWriter) {
			_ = w.WritePushPromise(http2.PushPromiseParam{StreamID: w.id, PromiseID: 2, BlockFragment: w.fields("GET", "/"), EndHeaders: true})
		}, status: 502, code: protocol},
		{name: "a response to no request", first: func(w *frameWriter) { w.id += 100; w.respond("200", true) }, status: 502, code: protocol},
		{name: "GOAWAY 0", first: func(w *frameWriter) { _ = w.WriteGoAway(0, http2.ErrCodeNo, nil) }, status: 503},
		{name: "REFUSED_STREAM", first: func(w *frameWriter) { _ = w.WriteRSTStream(w.id, http2.ErrCodeRefusedStream) }, status: 504},
		{name: "no response", status: 504},
		{name: "a body in pieces of 0 and 1 byte without end", first: func(w *frameWriter) { w.respond("200", false) }, more: func(w *frameWriter) {
			_ = w.WriteData(w.id, false, []byte("a"))
			time.Sleep(beat)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := newEndings()
			hostile := serveHostile(t, row.first, row.more, e)
			f := run(t, "http2.yaml", map[string]string{"18092": serveGo(t, paths()), "18999": hostile},
				"      cluster: web\n", "      routes:\n        - {name: bad, match: {path: /bad}, cluster: bad, forward: {timeout: 500ms}}\n        - {name: all, cluster: web}\n",
				"  clusters:\n", "  clusters:\n    - {name: bad, protocol: http2, endpoints: [{address: 127.0.0.1:18999}]}\n")
			honest := newHonest2(t, f.url("18082"))
			honest.ask(40)
			before := f.usage()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all sync.WaitGroup
			var expected atomic.Int64
			all.Go(func() {
				for ctx.Err() == nil {
					req, err := http.NewRequestWithContext(ctx, "GET", f.url("18082")+"/bad", nil)
					if err != nil {
						t.Error(err)
						return
					}
					resp, err := honest.kept.Do(req)
					if err == nil {
						_, err = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
					switch {
					case ctx.Err() != nil:
						return
					case row.status == 0 && err != nil, err == nil && resp.StatusCode == row.status:
						expected.Add(1)
					case err == nil && resp.StatusCode == 504: // the server misbehaves on one stream of a connection
					default:
						t.Errorf("got %v, %v, want status %d", resp, err, row.status)
						return
					}
				}
			})
			inVain := func() bool { return row.status != 0 && expected.Load() == 0 || !e.saw(row.code, 0) }
			for begun := time.Now(); time.Since(begun) < 800*time.Millisecond || inVain() && time.Since(begun) < patience && !t.Failed(); {
				honest.ask(20)
			}
			cancel()
			all.Wait()
			honest.ask(20)
			if row.status != 0 && expected.Load() == 0 {
				t.Errorf("no response had status %d", row.status)
			}
			if !e.saw(row.code, 0) {
				t.Errorf("the proxy ended connections with GOAWAY %v, want %v", e.goAway, row.code)
			}
			f.settles(before, 4<<20)
		})
	}
}
