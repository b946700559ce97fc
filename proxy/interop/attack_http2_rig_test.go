package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frameWriter writes frames of HTTP/2 to a buffer.
type frameWriter struct {
	*http2.Framer
	out     bytes.Buffer
	id      uint32 // of the last stream
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func newFrameWriter() *frameWriter {
	w := new(frameWriter)
	w.Framer = http2.NewFramer(&w.out, nil)
	w.AllowIllegalWrites = true
	w.encoder = hpack.NewEncoder(&w.block)
	w.id--
	return w
}

// fields encodes a request for path with further fields.
func (w *frameWriter) fields(method, path string, more ...string) []byte {
	return w.encode(append([]string{":method", method, ":scheme", "http", ":authority", "a", ":path", path}, more...)...)
}

// encode encodes names and values.
func (w *frameWriter) encode(pairs ...string) []byte {
	w.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = w.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}) // a buffer accepts all writes
	}
	return w.block.Bytes()
}

// headers opens the next stream with a field block. end means that no body follows.
func (w *frameWriter) headers(block []byte, end bool) {
	w.id += 2
	_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: w.id, BlockFragment: block, EndHeaders: true, EndStream: end})
}

// get and post open the next stream with a request. The body of post does not begin.
func (w *frameWriter) get(path string) { w.headers(w.fields("GET", path), true) }

func (w *frameWriter) post(path string, more ...string) {
	w.headers(w.fields("POST", path, more...), false)
}

// flood is what each connection of an attacker does.
type flood struct {
	settings []http2.Setting
	first    func(w *frameWriter)
	more     func(w *frameWriter) // sent again and again; nil: nothing more is sent
	pause    time.Duration        // between two calls of more
	unread   bool                 // the attacker reads nothing
	bytewise bool                 // each byte is sent alone
}

// endings counts how attacked connections ended.
type endings struct {
	mu      sync.Mutex
	goAway  map[http2.ErrCode]int
	resets  map[http2.ErrCode]int // RST_STREAM frames
	opened  int
	without int // connections that ended without GOAWAY
	sent    atomic.Int64
}

func newEndings() *endings {
	return &endings{goAway: map[http2.ErrCode]int{}, resets: map[http2.ErrCode]int{}}
}

// none reports whether no connection has ended.
func (e *endings) none() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.without == 0 && len(e.goAway) == 0
}

// saw reports whether a connection ended with GOAWAY of a code, and whether there was an RST_STREAM of a code. A code of 0 is any, or
// none.
func (e *endings) saw(goAway, reset http2.ErrCode) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return (goAway == 0 || e.goAway[goAway] > 0) && (reset == 0 || e.resets[reset] > 0)
}

// run attacks over connections until ctx ends, and counts in e how they end. An ended connection is opened again.
func (f *flood) run(ctx context.Context, conns int, dial func(ctx context.Context, i int) (net.Conn, error), e *endings) {
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() {
			for ctx.Err() == nil {
				c, err := dial(ctx, i)
				if err != nil {
					time.Sleep(beat)
					continue
				}
				f.attack(ctx, c, e)
				c.Close()
			}
		})
	}
	all.Wait()
}

// attack uses one connection until it ends.
func (f *flood) attack(ctx context.Context, c net.Conn, e *endings) {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	ended := make(chan struct{})
	if f.unread {
		close(ended)
	} else {
		go func() {
			defer close(ended)
			e.read(ctx, c)
		}()
	}
	w := newFrameWriter()
	w.out.WriteString(http2.ClientPreface)
	_ = w.WriteSettings(f.settings...)
	if f.first != nil {
		f.first(w)
	}
	_, err := f.write(c, w)
	for err == nil && ctx.Err() == nil && f.more != nil && (f.unread || !isClosed(ended)) {
		f.more(w)
		var n int
		n, err = f.write(c, w)
		e.sent.Add(int64(n))
		time.Sleep(f.pause)
	}
	if f.unread && err == nil && f.more == nil {
		<-ctx.Done()
	}
	if f.unread && ctx.Err() == nil {
		e.mu.Lock()
		e.without++
		e.mu.Unlock()
	}
	<-ended
}

func (f *flood) write(c net.Conn, w *frameWriter) (n int, err error) {
	defer w.out.Reset()
	if !f.bytewise {
		return c.Write(w.out.Bytes())
	}
	for _, b := range w.out.Bytes() {
		if _, err = c.Write([]byte{b}); err != nil {
			break
		}
		n++
		time.Sleep(f.pause)
	}
	return n, err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// read reads what the proxy sends until GOAWAY or the end.
func (e *endings) read(ctx context.Context, c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(attackTime + patience))
	framer := http2.NewFramer(io.Discard, c)
	e.mu.Lock()
	e.opened++
	e.mu.Unlock()
	for {
		f, err := framer.ReadFrame()
		if errors.As(err, new(http2.StreamError)) {
			continue
		}
		e.mu.Lock()
		switch f := f.(type) {
		case *http2.RSTStreamFrame:
			e.resets[f.ErrCode]++
		case *http2.GoAwayFrame:
			if f.ErrCode != http2.ErrCodeNo {
				e.goAway[f.ErrCode]++
				e.mu.Unlock()
				return
			}
		}
		if err != nil && ctx.Err() == nil {
			e.without++
		}
		e.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// usage is what a process holds.
type usage struct {
	heap       int // bytes in use after a garbage collection
	goroutines int
	files      int // open descriptors, without connections to servers
	conns      int // connections of clients
	active     int // requests at servers
}

func (u usage) String() string {
	return fmt.Sprintf("heap %d KiB, %d goroutines, %d files, %d connections, %d requests", u.heap>>10, u.goroutines, u.files, u.conns, u.active)
}

var (
	heapAlloc       = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
	goroutinesTotal = regexp.MustCompile(`^goroutine profile: total (\d+)`)
)

// usage measures the process through its admin port.
func (f *ferry) usage() (u usage) {
	const admin = "18097" // port of examples/proxy/http2.yaml
	f.t.Helper()
	find := func(path string, re *regexp.Regexp) int {
		resp, err := http.Get(f.url(admin) + path)
		if err != nil {
			f.t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		m := re.FindSubmatch(text)
		if err != nil || m == nil {
			f.t.Fatalf("%s: %v, no %s in %s", path, err, re, short(string(text)))
		}
		n, _ := strconv.Atoi(string(m[1])) // digits
		return n
	}
	_ = find("/debug/pprof/heap?gc=1&debug=1", heapAlloc) // the first collection moves pools to their victims
	u.heap = find("/debug/pprof/heap?gc=1&debug=1", heapAlloc)
	u.goroutines = find("/debug/pprof/goroutine?debug=1", goroutinesTotal)
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", f.pid))
	if err != nil {
		f.t.Fatal(err)
	}
	m := f.metrics(admin)
	u.conns = int(counter(m, "ferry_proxy_connections", ""))
	u.active = int(counter(m, "ferry_upstream_active", ""))
	u.files = len(files) - int(counter(m, "ferry_upstream_connections", ""))
	return u
}

// settles waits until the process holds no more than before, up to more bytes of heap.
func (f *ferry) settles(before usage, more int) {
	f.t.Helper()
	var now usage
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(50 * time.Millisecond) {
		now = f.usage()
		if now.heap <= before.heap+more && now.goroutines <= before.goroutines && now.files <= before.files && now.conns <= before.conns && now.active == 0 {
			f.t.Logf("before: %v; after: %v", before, now)
			return
		}
	}
	f.t.Errorf("after the attack: %v; want %v, and at most %d KiB more of heap", now, before, more>>10)
}

// newHonest2 is newHonest for clients of HTTP/2.
func newHonest2(t *testing.T, url string) *honest {
	h := newHonest(t, url)
	for _, c := range []*http.Client{h.kept, h.once} {
		tr := c.Transport.(*http.Transport)
		tr.Protocols = new(http.Protocols)
		tr.Protocols.SetUnencryptedHTTP2(true)
	}
	return h
}
