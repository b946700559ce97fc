package tlslayer

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/ferry/loop"
)

func noise(n int) []byte {
	rng := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	_, _ = rng.Read(b)
	return b
}

// echoes writes want and compares what comes back until the server's close_notify.
func echoes(t *testing.T, conn *tls.Conn, want []byte) {
	t.Helper()
	go func() {
		_, _ = conn.Write(want)
		_ = conn.CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes came back of %d, or others: %v", len(got), len(want), err)
	}
}

// TestEcho: clients of each version send and receive many bytes, and both sides end with close_notify.
func TestEcho(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	server.MinVersion = tls.VersionTLS12
	both(t, func(t *testing.T, cfg *loop.Config) {
		r := newRig(t, cfg, nil, server)
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			for _, size := range []int{0, 1, 1000, 16 << 10, 2 << 20} {
				c := client.Clone()
				c.MaxVersion = version
				echoes(t, tls.Client(r.dial(t), c), noise(size))
				if err := r.wantClosed(t); err != nil {
					t.Errorf("%s, %d bytes: Closed with %v", tls.VersionName(version), size, err)
				}
			}
		}
	})
}

// slowWire writes one byte at a time and reads at most one byte at a time.
type slowWire struct{ net.Conn }

func (s slowWire) Read(p []byte) (int, error) { return s.Conn.Read(p[:min(len(p), 1)]) }

func (s slowWire) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := s.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// TestOneByteAtATime: records and the handshake arrive in pieces of one byte.
func TestOneByteAtATime(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	both(t, func(t *testing.T, cfg *loop.Config) {
		cfg.ReadBuffer = 512
		r := newRig(t, cfg, nil, server)
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			c := client.Clone()
			c.MaxVersion = version
			echoes(t, tls.Client(slowWire{r.dial(t)}, c), noise(3000))
			if err := r.wantClosed(t); err != nil {
				t.Errorf("%s: Closed with %v", tls.VersionName(version), err)
			}
		}
	})
}

// recordedHello returns the ClientHello of a client.
func recordedHello(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer func() { _ = a.Close() }()
	go func() { _ = tls.Client(b, config).Handshake() }()
	head := make([]byte, recordHead)
	if _, err := io.ReadFull(a, head); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, recordLen(head))
	copy(p, head)
	if _, err := io.ReadFull(a, p[recordHead:]); err != nil {
		t.Fatal(err)
	}
	return p
}

// splitWire writes the first flight in two parts, with a pause of at least one turn of the loop between them.
type splitWire struct {
	net.Conn
	at int
	r  *rig
}

func (s *splitWire) Write(p []byte) (int, error) {
	if s.at == 0 {
		return s.Conn.Write(p)
	}
	at := min(s.at, len(p))
	s.at = 0
	if _, err := s.Conn.Write(p[:at]); err != nil {
		return 0, err
	}
	s.r.group.Stats()
	n, err := s.Conn.Write(p[at:])
	return at + n, err
}

// TestSplitClientHello: the ClientHello arrives in two parts, split at each byte.
func TestSplitClientHello(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	client.CurvePreferences = []tls.CurveID{tls.X25519} // a short ClientHello
	r := newRig(t, nil, nil, server)
	for at := 1; at < len(recordedHello(t, client)); at++ {
		conn := tls.Client(&splitWire{r.dial(t), at, r}, client)
		if err := conn.Handshake(); err != nil {
			t.Fatalf("split at byte %d: %v", at, err)
		}
		_ = conn.NetConn().Close()
	}
}

// TestHelloArrived: exactly the complete ClientHello counts as arrived, in one record and in many.
func TestHelloArrived(t *testing.T) {
	_, client := newAuthority(t).configs(t)
	whole := recordedHello(t, client)
	split := splitHello(whole)
	if len(whole) <= helloPieces || len(split) <= len(whole) {
		t.Fatalf("a ClientHello of %d bytes was split into %d: it should have ML-KEM's key", len(whole), len(split))
	}
	for name, hello := range map[string][]byte{"one record": whole, "records": split} {
		for n := range len(hello) {
			if helloArrived(hello[:n]) {
				t.Errorf("%s: %d bytes of %d count as arrived", name, n, len(hello))
			}
		}
		if !helloArrived(hello) {
			t.Errorf("%s: a complete ClientHello counts as incomplete", name)
		}
	}
	for name, p := range map[string][]byte{
		"other message": {22, 3, 1, 0, 4, 2, 0, 0, 0},
		"empty record":  {22, 3, 1, 0, 0},
		"version":       {22, 9, 1, 0, 4},
		"length":        {22, 3, 1, 0xff, 0xff},
		"other record":  append(whole[:len(whole):len(whole)][:100], 0)[:0:0],
	} {
		if len(p) > 0 && !helloArrived(p) {
			t.Errorf("%s: crypto/tls does not get to judge % x", name, p)
		}
	}
}

// TestRefused: the causes that Closed gets when the handshake fails.
func TestRefused(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	server.NextProtos = []string{"h2", "http/1.1"}
	both(t, func(t *testing.T, cfg *loop.Config) {
		patient := newRig(t, cfg, nil, server)
		cfg.HandshakeTimeout = 100 * time.Millisecond
		hasty := newRig(t, cfg, nil, server)
		const tooLate = "not ready in time"
		for _, row := range []struct {
			name string
			do   func(c net.Conn)
			want string
		}{
			{"cleartext", func(c net.Conn) {
				_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
				if got, _ := io.ReadAll(c); !bytes.Equal(got, alertUnexpectedMessage) {
					t.Errorf("a cleartext client got % x", got)
				}
			}, ErrNotTLS.Error()},
			{"silent", func(c net.Conn) { _, _ = io.ReadAll(c) }, tooLate},
			{"half a ClientHello", func(c net.Conn) {
				_, _ = c.Write(recordedHello(t, client)[:100])
				_, _ = io.ReadAll(c)
			}, tooLate},
			{"nothing after the ClientHello", func(c net.Conn) {
				_, _ = c.Write(recordedHello(t, client))
				_, _ = io.ReadAll(c)
			}, tooLate},
			{"end in the ClientHello", func(c net.Conn) {
				_, _ = c.Write(recordedHello(t, client)[:100])
				_ = c.Close()
			}, "unexpected EOF"},
			{"end after the ClientHello", func(c net.Conn) {
				_, _ = c.Write(recordedHello(t, client))
				_ = c.(*net.TCPConn).CloseWrite()
				_, _ = io.ReadAll(c)
			}, "EOF"},
			{"protocol", func(c net.Conn) {
				config := client.Clone()
				config.NextProtos = []string{"smtp"}
				if err := tls.Client(c, config).Handshake(); err == nil || !strings.Contains(err.Error(), "no application protocol") {
					t.Errorf("unknown protocol: the client got %v", err)
				}
			}, "unsupported application protocols"},
			{"alert", func(c net.Conn) {
				config := client.Clone()
				config.ServerName = "other.example"
				_ = tls.Client(c, config).Handshake()
			}, "remote error: tls: bad certificate"},
			{"garbage", func(c net.Conn) { _, _ = c.Write([]byte{22, 3, 1, 0, 4, 9, 9, 9, 9}); _, _ = io.ReadAll(c) }, "tls: "},
		} {
			r := patient
			if row.want == tooLate {
				r = hasty
			}
			row.do(r.dial(t))
			if err := r.wantClosed(t); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: Closed with %v, want %q", row.name, err, row.want)
			}
		}
		if n := patient.opened.Load() + hasty.opened.Load(); n != 0 {
			t.Errorf("Opened was called %d times", n)
		}
	})
}

// TestTruncated: without close_notify, an end between records is the end for a server, and an end within a record an error.
func TestTruncated(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	both(t, func(t *testing.T, cfg *loop.Config) {
		r := newRig(t, cfg, nil, server)
		for _, row := range []struct {
			name string
			tail []byte
			want error
		}{
			{"between records", nil, nil},
			{"in a head", []byte{23, 3}, io.ErrUnexpectedEOF},
			{"in a record", []byte{23, 3, 3, 0, 100, 1, 2, 3}, io.ErrUnexpectedEOF},
		} {
			raw := r.dial(t)
			conn := tls.Client(raw, client)
			if _, err := conn.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			_, _ = raw.Write(row.tail)
			_ = raw.(*net.TCPConn).CloseWrite()
			if err := r.wantClosed(t); !errors.Is(err, row.want) {
				t.Errorf("%s: Closed with %v, want %v", row.name, err, row.want)
			}
		}
	})
}

// TestResumption: a second connection of a client resumes its session, in both versions.
func TestResumption(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	r := newRig(t, nil, nil, server)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c := client.Clone()
		c.MaxVersion = version
		c.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for i := range 3 {
			conn := tls.Client(r.dial(t), c)
			echoes(t, conn, noise(10))
			if got := conn.ConnectionState().DidResume; got != (i > 0) {
				t.Errorf("%s, connection %d: resumed is %v", tls.VersionName(version), i, got)
			}
		}
	}
}
