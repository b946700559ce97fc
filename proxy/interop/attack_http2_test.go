package interop

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"example.com/ferry/internal/needs"
)

// inFlight counts requests that a server processes.
type inFlight struct{ now, most, all atomic.Int64 }

// slow is a handler that waits until its request is canceled. net/http notices that only after it has read the body.
func (n *inFlight) slow(_ http.ResponseWriter, r *http.Request) {
	n.all.Add(1)
	now := n.now.Add(1)
	defer n.now.Add(-1)
	for most := n.most.Load(); now > most && !n.most.CompareAndSwap(most, now); most = n.most.Load() {
	}
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		<-r.Context().Done()
	}
}

// times calls write n times.
func times(n int, write func(w *frameWriter)) func(w *frameWriter) {
	return func(w *frameWriter) {
		for range n {
			write(w)
		}
	}
}

// canceled opens a stream and ends it in the way of fault: the request is at its server meanwhile.
func canceled(fault func(w *frameWriter)) func(w *frameWriter) {
	return times(20, func(w *frameWriter) {
		w.get("/slow")
		fault(w)
	})
}

// conns is the number of connections of an attacker that floods.
const conns = 4

// TestAttackHTTP2 misuses HTTP/2 in each way that is known. The attacker's connections end with the right code and are counted.
// Honest clients on other connections of the same loop get all their responses. Afterwards the process holds what it held before.
func TestAttackHTTP2(t *testing.T) {
	if runtime.GOOS != "linux" {
		needs.Missing(t, "all addresses of 127.0.0.0/8", "run on Linux")
	}
	const (
		calm     = http2.ErrCodeEnhanceYourCalm
		protocol = http2.ErrCodeProtocol
		timeouts = "http2: {header_timeout: 2s, idle_timeout: 2s, body_timeout: 2s}" // honest clients on a busy machine keep them
	)
	ping := func(w *frameWriter) { _ = w.WritePing(false, [8]byte{}) }
	big := strings.Repeat("x", 3900)
	for _, row := range []struct {
		name   string
		edit   string // settings of the listener
		flood  flood
		code   http2.ErrCode // of GOAWAY; 0: the attacker does not see one
		reset  http2.ErrCode // of RST_STREAM; 0: any
		reason string        // of ferry_connections_abused_total, or of ferry_proxy_refused_total after a slash
		heap   int           // more bytes of heap afterwards; 0 means 4 MiB
		keeps  bool          // the connection is not ended
	}{
		{name: "rapid reset", code: calm, reason: "resets", flood: flood{more: canceled(func(w *frameWriter) { _ = w.WriteRSTStream(w.id, http2.ErrCodeCancel) })}},
		{name: "rapid reset of bodies", code: calm, reason: "resets", flood: flood{more: times(20, func(w *frameWriter) {
			w.post("/slow")
			_ = w.WriteData(w.id, false, []byte("a"))
			_ = w.WriteRSTStream(w.id, http2.ErrCodeCancel)
		})}},
		{name: "reset after the server has begun", code: calm, reason: "resets", flood: flood{pause: 2 * time.Millisecond, more: func(w *frameWriter) {
			for id := max(int(w.id)-38, 1); w.id < 1<<31 && id <= int(w.id); id += 2 {
				_ = w.WriteRSTStream(uint32(id), http2.ErrCodeCancel)
			}
			times(20, func(w *frameWriter) { w.get("/slow") })(w)
		}}},
		{name: "made to reset by DATA after the end", code: calm, reset: http2.ErrCodeStreamClosed, reason: "stream_errors", flood: flood{more: canceled(func(w *frameWriter) { _ = w.WriteData(w.id, true, []byte("a")) })}},
		{name: "made to reset by HEADERS after the end", code: calm, reset: http2.ErrCodeStreamClosed, reason: "stream_errors", flood: flood{more: canceled(func(w *frameWriter) {
			w.id -= 2
			w.get("/slow")
		})}},
		{name: "made to reset by windows that overflow", code: calm, reset: http2.ErrCodeFlowControl, reason: "stream_errors", flood: flood{more: canceled(func(w *frameWriter) { _ = w.WriteWindowUpdate(w.id, 1<<31-1) })}},
		{name: "made to reset by windows of 0", code: calm, reset: protocol, reason: "window_updates", flood: flood{more: canceled(func(w *frameWriter) { _ = w.WriteWindowUpdate(w.id, 0) })}},
		{name: "made to reset by PRIORITY of a wrong length", code: calm, reset: http2.ErrCodeFrameSize, reason: "stream_errors", flood: flood{more: canceled(func(w *frameWriter) { _ = w.WriteRawFrame(http2.FramePriority, 0, w.id, make([]byte, 4)) })}},
		{name: "made to reset by bodies that are too long", code: calm, reset: protocol, reason: "stream_errors", flood: flood{more: times(20, func(w *frameWriter) {
			w.post("/slow", "content-length", "1")
			_ = w.WriteData(w.id, false, []byte("ab"))
		})}},
		{name: "trailers without end", code: calm, reset: protocol, reason: "stream_errors", flood: flood{more: times(20, func(w *frameWriter) {
			w.post("/slow")
			_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: w.id, BlockFragment: w.encode("a", "b"), EndHeaders: true})
		})}},
		{name: "more streams than agreed", code: calm, reset: http2.ErrCodeRefusedStream, reason: "refused_streams", flood: flood{more: times(20, func(w *frameWriter) { w.get("/slow") })}},
		{name: "CONTINUATION", code: calm, reason: "continuation", flood: flood{more: func(w *frameWriter) {
			if w.id == 1<<32-1 {
				w.id = 1
				_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: w.id, BlockFragment: w.fields("GET", "/")})
			}
			_ = w.WriteContinuation(w.id, false, w.encode("x-filler", big))
		}}},
		{name: "empty CONTINUATION", code: calm, reason: "empty_frames", flood: flood{
			first: func(w *frameWriter) {
				w.id += 2
				_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: w.id, BlockFragment: w.fields("GET", "/")})
			},
			more: times(100, func(w *frameWriter) { _ = w.WriteContinuation(w.id, false, nil) }),
		}},
		{name: "PING", code: calm, reason: "pings", flood: flood{more: times(100, ping)}},
		{name: "acknowledgements of PING", code: calm, reason: "pings", flood: flood{more: times(100, func(w *frameWriter) { _ = w.WritePing(true, [8]byte{}) })}},
		{name: "PING, unread", reason: "pings", flood: flood{more: times(100, ping), unread: true}},
		{name: "SETTINGS", code: calm, reason: "settings", flood: flood{more: times(100, func(w *frameWriter) { _ = w.WriteSettings() })}},
		{name: "acknowledgements of SETTINGS", code: calm, reason: "settings", flood: flood{more: times(100, func(w *frameWriter) { _ = w.WriteSettingsAck() })}},
		{name: "SETTINGS that change the windows of many streams", code: calm, reason: "settings", flood: flood{
			first: times(100, func(w *frameWriter) { w.get("/slow") }),
			more: times(50, func(w *frameWriter) {
				for _, n := range []uint32{0, 1<<31 - 1} {
					_ = w.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: n}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: n})
				}
			}),
		}},
		{name: "empty DATA", code: calm, reason: "empty_frames", flood: flood{
			first: func(w *frameWriter) { w.post("/slow") }, more: times(100, func(w *frameWriter) { _ = w.WriteData(w.id, false, nil) }),
		}},
		{name: "padding without content", code: calm, reason: "empty_frames", flood: flood{
			first: func(w *frameWriter) { w.post("/slow") }, more: times(100, func(w *frameWriter) { _ = w.WriteDataPadded(w.id, false, nil, make([]byte, 100)) }),
		}},
		{name: "PRIORITY", code: calm, reason: "ignored_frames", flood: flood{more: times(100, func(w *frameWriter) { _ = w.WritePriority(3, http2.PriorityParam{StreamDep: 1}) })}},
		{name: "unknown frames", code: calm, reason: "ignored_frames", flood: flood{more: times(100, func(w *frameWriter) { _ = w.WriteRawFrame(0x99, 0, 0, nil) })}},
		{name: "WINDOW_UPDATE of 1", code: calm, reason: "window_updates", flood: flood{more: times(100, func(w *frameWriter) { _ = w.WriteWindowUpdate(0, 1) })}},
		{name: "header bomb", code: calm, reason: "header_bomb", flood: flood{
			more: func(w *frameWriter) { // RFC 7541, section 6.1: 0xbe is the newest entry of the dynamic table
				w.headers(append(w.fields("GET", "/", "x-bomb", big), strings.Repeat("\xbe", 12_000)...), true)
			},
		}},
		{name: "responses of the proxy, unread", reason: "refused_streams", flood: flood{more: times(200, func(w *frameWriter) { w.headers(w.fields("CONNECT", "/", ":protocol", "unknown"), true) }), unread: true}},
		{name: "PUSH_PROMISE", code: protocol, reason: "/bad_request", flood: flood{first: func(w *frameWriter) {
			_ = w.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: w.fields("GET", "/"), EndHeaders: true})
		}}},
		{name: "frames of streams that are not open", code: protocol, reason: "/bad_request", flood: flood{first: func(w *frameWriter) { _ = w.WriteData(101, false, []byte("a")) }}},
		{name: "a preface byte by byte", edit: timeouts, code: calm, reason: "/slow_client", flood: flood{bytewise: true, pause: 200 * time.Millisecond}},
		{name: "frames byte by byte", edit: timeouts, code: calm, reason: "/slow_client", flood: flood{
			first: func(w *frameWriter) {
				w.get("/slow")
				_ = w.WriteRawFrame(http2.FramePing, 0, 0, nil)
				w.out.Truncate(w.out.Len() - 5)
			},
		}},
		{name: "a head that does not end", edit: timeouts, code: calm, reason: "/slow_client", flood: flood{
			first: func(w *frameWriter) {
				w.id += 2
				_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: w.id, BlockFragment: w.fields("GET", "/")})
			},
			more: func(w *frameWriter) { _ = w.WriteContinuation(w.id, false, w.encode("a", "b")) }, pause: 50 * time.Millisecond,
		}},
		{name: "bodies that stop", edit: timeouts, keeps: true, reason: "/slow_client", flood: flood{first: times(50, func(w *frameWriter) { w.post("/hash", "content-length", "10") })}},
		{name: "windows that stay closed", edit: timeouts, keeps: true, reset: http2.ErrCodeInternal, reason: "/slow_client", heap: 12 << 20, flood: flood{
			settings: []http2.Setting{{ID: http2.SettingInitialWindowSize}}, first: times(100, func(w *frameWriter) { w.get("/bytes?n=1000000") }),
		}},
		{name: "windows that open by 1", edit: timeouts, code: calm, reason: "window_updates", heap: 12 << 20, flood: flood{
			settings: []http2.Setting{{ID: http2.SettingInitialWindowSize}}, first: func(w *frameWriter) { w.get("/bytes?n=1000000") },
			more: times(20, func(w *frameWriter) { _ = w.WriteWindowUpdate(w.id, 1) }),
		}},
		{name: "responses that are not read", edit: timeouts, keeps: true, reason: "/slow_client", heap: 12 << 20, flood: flood{
			settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1 << 30}}, unread: true,
			first: func(w *frameWriter) {
				_ = w.WriteWindowUpdate(0, 1<<30)
				times(100, func(w *frameWriter) { w.get("/bytes?n=1000000") })(w)
			},
		}},
		{name: "bodies in pieces of 1 byte", keeps: true, heap: 12 << 20, flood: flood{
			first: func(w *frameWriter) { w.post("/hash") }, more: times(200, func(w *frameWriter) { _ = w.WriteData(w.id, false, []byte("a")) }), pause: beat,
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			work := new(inFlight)
			mux := paths()
			mux.HandleFunc("/slow", work.slow)
			edit := []string{"proxy:\n", "proxy:\n  loops: 1\n"}
			if row.edit != "" {
				edit = append(edit, "protocol: http2 #", "protocol: http2\n      "+row.edit+" #")
			}
			f := run(t, "http2.yaml", map[string]string{"18092": serveGo(t, mux)}, edit...)
			honest := newHonest2(t, f.url("18082"))
			honest.ask(40)
			before := f.usage()
			stop := f.watch(96)
			name, label := "ferry_connections_abused_total", row.reason
			if why, ok := strings.CutPrefix(label, "/"); ok {
				name, label = "ferry_proxy_refused_total", why
			}
			label = fmt.Sprintf("reason=%q", label)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			a := &attackers{address: f.at("18082")}
			e := newEndings()
			var attack sync.WaitGroup
			attack.Go(func() {
				row.flood.run(ctx, conns, a.dial, e)
			})
			// A reset of the connection may overtake GOAWAY and RST_STREAM, so the attacker may have to try again.
			inVain := func() bool {
				return row.reason != "" && counter(f.metrics("18097"), name, label) < conns || !row.keeps && e.none() || !e.saw(row.code, row.reset)
			}
			for begun := time.Now(); time.Since(begun) < floodTime || inVain() && time.Since(begun) < patience; {
				honest.ask(20)
			}
			cancel()
			attack.Wait()
			honest.ask(20)
			counted := counter(f.metrics("18097"), name, label)
			t.Logf("%d connections; GOAWAY %v, RST_STREAM %v, ended without %d; %s{%s} %.0f; the server had %d requests, %d at once", a.opened.Load(), e.goAway, e.resets, e.without, name, label, counted, work.all.Load(), work.most.Load())
			if row.reason != "" && counted == 0 {
				t.Errorf("%s{%s} did not rise", name, label)
			}
			if row.code != 0 && (e.goAway[row.code] == 0 || len(e.goAway) > 1) {
				t.Errorf("connections ended with GOAWAY %v, want %v", e.goAway, row.code)
			}
			if row.reset != 0 && e.resets[row.reset] == 0 {
				t.Errorf("streams ended with RST_STREAM %v, want %v", e.resets, row.reset)
			}
			if !row.keeps && row.code == 0 && e.without == 0 {
				t.Error("no connection was ended")
			}
			if most := work.most.Load(); most > 100*conns {
				t.Errorf("the server had %d requests at once, want at most 100 for each of the %d connections", most, conns)
			}
			stop()
			if row.heap == 0 {
				row.heap = 4 << 20
			}
			f.settles(before, row.heap)
		})
	}
}

// TestAttackHTTP2Memory: clients request much and never open the windows of their streams. What waits for them stays within the
// memory that the queues of all connections may take.
func TestAttackHTTP2Memory(t *testing.T) {
	needFiles(t)
	if runtime.GOOS != "linux" {
		needs.Missing(t, "the memory of a process in /proc", "run on Linux")
	}
	const budget = 64 // MiB; each of the streams could hold 64 KiB, 64 MiB together
	f := run(t, "http2.yaml", map[string]string{"18092": serveGo(t, paths())}, "proxy:\n", fmt.Sprintf("proxy:\n  loops: 1\n  overload: {memory: %dMiB}\n", budget))
	honest := newHonest2(t, f.url("18082"))
	honest.ask(40)
	before := f.usage()
	stop := f.watch(budget)
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond+floodTime)
	defer cancel()
	a := &attackers{address: f.at("18082")}
	closed := flood{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize}}, first: times(100, func(w *frameWriter) { w.get("/bytes?n=1000000") })}
	var attack sync.WaitGroup
	attack.Go(func() { closed.run(ctx, 10, a.dial, newEndings()) })
	for ctx.Err() == nil {
		honest.ask(20)
	}
	attack.Wait()
	honest.ask(20)
	stop()
	m := f.metrics("18097")
	t.Logf("requests shed %.0f", counter(m, "ferry_proxy_refused_total", `"shed"`))
	f.settles(before, 24<<20)
}
