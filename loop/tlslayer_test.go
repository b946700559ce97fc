package loop

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"
)

// tlsLayer shows that crypto/tls can implement a Layer. The handshake runs on a goroutine, over a net.Conn whose Read blocks.
// After that the loop reads and writes the same tls.Conn, whose Read no longer blocks. The tls.Conn does not treat a timeout
// as the end of the stream, so a partial record is preserved.
type tlsLayer struct {
	conn   *tls.Conn
	socket *Socket
	ready  bool // copy for the loop
	err    error

	mu      sync.Mutex
	arrived *sync.Cond
	in      bytes.Buffer // received bytes for the goroutine
	inErr   error
	inLoop  bool // the handshake is done: only the loop calls Read and Write
}

func newTLSLayer(config *tls.Config) *tlsLayer {
	t := &tlsLayer{}
	t.arrived = sync.NewCond(&t.mu)
	t.conn = tls.Server(tlsWire{t}, config)
	return t
}

func (t *tlsLayer) Start(s *Socket) {
	t.socket = s
	l := s.conn.Loop()
	go func() {
		err := t.conn.HandshakeContext(context.Background())
		_ = l.Post(func() {
			t.mu.Lock()
			t.inLoop = true
			t.mu.Unlock()
			t.ready, t.err = true, err
			s.Wake()
		})
	}()
}

// Handshake passes arriving bytes to the goroutine.
func (t *tlsLayer) Handshake() error {
	for !t.ready {
		var p [4096]byte
		n, err := t.socket.Read(p[:])
		if errors.Is(err, ErrAgain) {
			return err
		}
		t.mu.Lock()
		t.in.Write(p[:n])
		t.inErr = err
		t.arrived.Signal()
		t.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return t.err
}

func (t *tlsLayer) Read(p []byte) (int, error) {
	n, err := t.conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrAgain
	}
	return n, err
}

func (t *tlsLayer) Write(p []byte) (int, error) { return t.conn.Write(p) }
func (t *tlsLayer) CloseWrite() error           { return t.conn.CloseWrite() }

func (t *tlsLayer) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inErr = net.ErrClosed
	t.arrived.Signal()
}

// tlsWire is the net.Conn below the tls.Conn.
type tlsWire struct{ *tlsLayer }

func (w tlsWire) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.inLoop && w.in.Len() == 0 && w.inErr == nil {
		w.arrived.Wait()
	}
	if w.in.Len() > 0 {
		return w.in.Read(p)
	}
	if !w.inLoop {
		return 0, w.inErr
	}
	n, err := w.socket.Read(p)
	if errors.Is(err, ErrAgain) {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

func (w tlsWire) Write(p []byte) (int, error) {
	w.mu.Lock()
	inLoop := w.inLoop
	w.mu.Unlock()
	if inLoop {
		w.socket.Write(p)
		return len(p), nil
	}
	b := bytes.Clone(p)
	return len(p), w.socket.conn.Loop().Post(func() { w.socket.Write(b) })
}

func (w tlsWire) Close() error                     { return nil }
func (w tlsWire) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (w tlsWire) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (w tlsWire) SetDeadline(time.Time) error      { return nil }
func (w tlsWire) SetReadDeadline(time.Time) error  { return nil }
func (w tlsWire) SetWriteDeadline(time.Time) error { return nil }

// TestTLSLayer: clients of crypto/tls negotiate a protocol, which selects the handler, and echo many bytes.
func TestTLSLayer(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	serverConfig := &tls.Config{Certificates: server.TLS.Certificates, NextProtos: []string{"h2", "echo"}}
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		closed := make(chan error, 10)
		to := listen(t, g, func(c *Conn) Handler {
			layer := newTLSLayer(serverConfig)
			c.SetLayer(layer, func(*Conn) Handler {
				h := &script{opened: func(c *Conn) { c.Close() }}
				if state := layer.conn.ConnectionState(); state.NegotiatedProtocol == "echo" && state.ServerName == "example.com" {
					h = echo()
				}
				h.closed = func(_ *Conn, err error) { closed <- err }
				return h
			})
			return &script{closed: func(_ *Conn, err error) { closed <- err }}
		})
		for range 3 {
			clientConfig := &tls.Config{RootCAs: roots, ServerName: "example.com", NextProtos: []string{"echo"}}
			conn := tls.Client(connect(t, to), clientConfig)
			want := noise(9, 2<<20)
			go func() {
				_, _ = conn.Write(want)
				_ = conn.CloseWrite()
			}()
			got, err := io.ReadAll(conn)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes came back of %d, or others: %v", len(got), len(want), err)
			}
			if err := wait(t, "Closed", closed); err != nil {
				t.Errorf("Closed with %v", err)
			}
		}
		conn := tls.Client(connect(t, to), &tls.Config{RootCAs: roots, ServerName: "example.com", NextProtos: []string{"smtp"}})
		if err := conn.Handshake(); err == nil {
			t.Error("a protocol that the server does not speak was agreed on")
		}
		if err := wait(t, "Closed", closed); err == nil {
			t.Error("Closed without an error though the handshake failed")
		}
	})
}
