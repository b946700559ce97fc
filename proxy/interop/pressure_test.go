package interop

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// counted is a reader that counts the bytes read.
type counted struct {
	io.Reader
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// settles waits until the count no longer changes, and returns it.
func (c *counted) settles() int64 {
	last := int64(0)
	for begun, since := time.Now(), time.Now(); time.Since(since) < 500*time.Millisecond && time.Since(begun) < patience; {
		if n := c.n.Load(); n != last || n == 0 {
			last, since = n, time.Now()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return last
}

// smallBuffers gives the socket of a test buffers of ownBuffer bytes, which the kernel does not enlarge. It returns c.
func smallBuffers(t *testing.T, c net.Conn) net.Conn {
	tcp := c.(*net.TCPConn)
	if err := errors.Join(tcp.SetReadBuffer(ownBuffer), tcp.SetWriteBuffer(ownBuffer)); err != nil {
		t.Error(err)
	}
	return c
}

const ownBuffer = 128 << 10

// smallListener gives the connections that it accepts small buffers.
type smallListener struct {
	net.Listener
	t *testing.T
}

func (l smallListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return smallBuffers(l.t, c), nil
}

// inSockets returns how many bytes the kernel may keep on their way between two sockets with small buffers and the two sockets of ferry
// between them. The kernel enlarges the buffers of ferry's sockets up to limits that differ between machines.
func inSockets(t *testing.T) int64 {
	t.Helper()
	total := int64(2 * 2 * ownBuffer) // Linux doubles what a program sets: socket(7)
	for _, name := range []string{"tcp_rmem", "tcp_wmem"} {
		limit := int64(16 << 20) // where there is no /proc
		if text, err := os.ReadFile("/proc/sys/net/ipv4/" + name); err == nil {
			var least, initial int64
			if _, err := fmt.Sscan(string(text), &least, &initial, &limit); err != nil {
				t.Fatalf("%s is %q: %v", name, text, err)
			}
		}
		total += limit
	}
	return total
}

// TestPressure has some clients and some servers stop reading for a while. Their peers must wait, but no other
// connection may wait.
func TestPressure(t *testing.T) {
	const (
		held   = 1 << 20 // upper bound of the bytes of a connection that ferry has
		number = 4       // number of connections of each kind
	)
	most := inSockets(t) + held
	size := most + 32<<20
	want := sum(size)
	release := make(chan struct{})
	var downs, ups [number]counted
	mux := paths()
	mux.HandleFunc("/down/", func(w http.ResponseWriter, r *http.Request) {
		c := &downs[r.URL.Path[len("/down/")]-'0']
		c.Reader = pattern(size)
		io.Copy(w, c)
	})
	mux.HandleFunc("/up", func(w http.ResponseWriter, r *http.Request) {
		<-release
		h := sha256.New()
		if _, err := io.Copy(h, r.Body); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%x", h.Sum(nil))
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := run(t, "http1.yaml", map[string]string{"18090": serveGoOn(t, smallListener{ln, t}, mux)})
	stop := f.watch(48)
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return smallBuffers(t, c), nil
	}

	var all sync.WaitGroup
	for i := range number {
		all.Go(func() {
			ups[i].Reader = pattern(size)
			r, err := http.NewRequestWithContext(t.Context(), "PUT", f.url("18080")+"/up", &ups[i])
			if err != nil {
				t.Error(err)
				return
			}
			got, err := (&http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}).Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer got.Body.Close()
			if hash, err := io.ReadAll(got.Body); err != nil || string(hash) != want {
				t.Errorf("the server that did not read got %s, %v, want %s", hash, err, want)
			}
		})
		all.Go(func() {
			conn, err := dial(t.Context(), "tcp", f.at("18080"))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "GET /down/%d HTTP/1.0\r\nHost: slow\r\n\r\n", i)
			<-release
			h := sha256.New()
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil {
				_, err = io.Copy(h, got.Body)
			}
			if hash := fmt.Sprintf("%x", h.Sum(nil)); err != nil || hash != want {
				t.Errorf("the client that did not read got %s, %v, want %s", hash, err, want)
			}
		})
	}
	honest := newHonest(t, f.url("18080"))
	honest.ask(200)
	for i := range number {
		if n := downs[i].settles(); n > most {
			t.Errorf("a server has sent %d bytes to a client that does not read, want at most %d", n, most)
		}
		if n := ups[i].settles(); n > most {
			t.Errorf("a client has sent %d bytes to a server that does not read, want at most %d", n, most)
		}
	}
	honest.ask(200)
	close(release)
	honest.ask(200)
	all.Wait()
	stop()
}

// honest has well-behaved clients, on persistent and on new connections.
type honest struct {
	t    *testing.T
	url  string
	kept *http.Client
	once *http.Client
}

func newHonest(t *testing.T, url string) *honest {
	kept, once := client(t), client(t)
	once.Transport.(*http.Transport).DisableKeepAlives = true
	kept.Timeout, once.Timeout = patience, patience
	return &honest{t, url, kept, once}
}

// ask sends n requests and checks every response. One request of ten uses a new connection.
//
// A proxy that is short of connections closes idle ones, and may close one while a request is on its way. Clients retry such a
// request on another connection if it is idempotent (RFC 9112, section 9.3.1), and net/http does if the request has a key.
func (h *honest) ask(n int) {
	h.t.Helper()
	const together = 4
	var all sync.WaitGroup
	for g := range together {
		all.Go(func() {
			for i := g; i < n; i += together {
				c := h.kept
				if i%10 == 0 {
					c = h.once
				}
				body := strings.Repeat("x", i)
				r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hash", strings.NewReader(body))
				if err != nil {
					h.t.Error(err)
					return
				}
				r.Header.Set("Content-Type", "text/plain")
				r.Header.Set("Idempotency-Key", strconv.Itoa(i))
				a, err := c.Do(r)
				if err != nil {
					h.t.Errorf("an honest client, new connection %t: %v", c == h.once, err)
					return
				}
				got, err := io.ReadAll(a.Body)
				a.Body.Close()
				if want := fmt.Sprintf("POST %d %x\n", i, sha256.Sum256([]byte(body))); err != nil || a.StatusCode != 200 || string(got) != want {
					h.t.Errorf("an honest client: got status %d, %q, %v, want 200, %q", a.StatusCode, got, err, want)
					return
				}
			}
		})
	}
	all.Wait()
}
