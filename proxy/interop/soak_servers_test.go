package interop

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// soakServer is a server of net/http that is stopped and started again at the same address. It has these paths; n is a number of
// bytes:
//
//	/echo?n=    the request's body while it arrives, then its hash and its trailer x-client in trailers
//	/slow?n=    the hash of a body that is read with pauses
//	/down?n=    n bytes of pattern, in pieces with pauses; with a length if n is even
//	/early      413 before the request's body is read
//	/abort?n=   n bytes, then the end of the stream or connection without the end of the response
//	/wait       no response until the client leaves, or for a second: of a client of HTTP/1.1 that closes its side, the proxy
//	            cannot know that it left
//	/204        a response without a body
type soakServer struct {
	address string
	server  func() *http.Server

	mu       sync.Mutex
	down     bool
	restored time.Time // end of the last interruption

	handlers atomic.Int64 // requests in handlers
}

// newSoakServer returns a server that speaks HTTP/1.1 or cleartext HTTP/2, or the version that the client chooses in TLS.
func newSoakServer(t *testing.T, version string, pair *tls.Certificate) *soakServer {
	t.Helper()
	s := &soakServer{address: freePort(t)}
	s.server = func() *http.Server {
		h := &http.Server{
			Handler: s, Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0),
			HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 40, MaxReceiveBufferPerStream: 32 << 10, MaxReceiveBufferPerConnection: 128 << 10},
		}
		h.Protocols.SetHTTP1(version == "http1")
		h.Protocols.SetHTTP2(pair != nil)
		h.Protocols.SetUnencryptedHTTP2(version == "http2")
		if pair != nil {
			h.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*pair}}
		}
		return h
	}
	return s
}

// listen opens the server's port.
func (s *soakServer) listen(ctx context.Context) (net.Listener, error) {
	for {
		ln, err := net.Listen("tcp", s.address)
		if err == nil || ctx.Err() != nil {
			return ln, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// run serves until ctx ends. After each interval it interrupts the server: it drains, with GOAWAY in HTTP/2, or all connections
// break. It calls ready once.
func (s *soakServer) run(ctx context.Context, t *testing.T, interval time.Duration, ready func()) {
	for n := 0; ; n++ {
		ln, err := s.listen(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		h := s.server()
		served := make(chan struct{})
		go func() {
			defer close(served)
			if h.TLSConfig != nil {
				_ = h.ServeTLS(ln, "", "")
			} else {
				_ = h.Serve(ln)
			}
		}()
		s.interrupted(false)
		if n == 0 {
			ready()
		}
		select {
		case <-ctx.Done():
			h.Close()
			<-served
			return
		case <-time.After(interval/2 + rand.N(interval)):
		}
		s.interrupted(true)
		if n%2 == 0 {
			draining, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			_ = h.Shutdown(draining)
			cancel()
		}
		h.Close()
		<-served
	}
}

func (s *soakServer) interrupted(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down && !down {
		s.restored = time.Now()
	}
	s.down = down
}

// disturbed reports whether the server was interrupted since begun, or less than a second before.
func (s *soakServer) disturbed(begun time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down || s.restored.After(begun.Add(-time.Second))
}

func (s *soakServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.handlers.Add(1)
	defer s.handlers.Add(-1)
	n, _ := strconv.ParseInt(r.URL.Query().Get("n"), 10, 64)
	switch r.URL.Path {
	case "/echo":
		h := sha256.New()
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.Header().Set("Trailer", "X-Hash, X-Client")
		w.(http.Flusher).Flush()
		if _, err := io.Copy(io.MultiWriter(w, h), r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("X-Hash", fmt.Sprintf("%x", h.Sum(nil)))
		w.Header().Set("X-Client", r.Trailer.Get("X-Client"))
	case "/slow":
		h := sha256.New()
		for buf := make([]byte, 20_000); ; time.Sleep(rand.N(2 * time.Millisecond)) {
			got, err := r.Body.Read(buf)
			h.Write(buf[:got])
			if err == io.EOF {
				break
			} else if err != nil {
				panic(http.ErrAbortHandler)
			}
		}
		fmt.Fprintf(w, "%x", h.Sum(nil))
	case "/down":
		if n%2 == 0 {
			w.Header().Set("Content-Length", fmt.Sprint(n))
		}
		from, pause := pattern(n), rand.N(2*time.Millisecond)
		for {
			if sent, err := io.CopyN(w, from, 50_000); err != nil || sent == 0 {
				return
			}
			time.Sleep(pause)
		}
	case "/early":
		w.Header().Set("Content-Length", "5")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, "early")
	case "/abort":
		_, _ = io.Copy(w, pattern(n))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case "/wait":
		select {
		case <-r.Context().Done():
		case <-time.After(time.Second):
		}
	case "/204":
		w.WriteHeader(http.StatusNoContent)
	}
}
