package certs_test

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"example.com/ferry/internal/certs"
)

func config() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12} }

// handshake connects client to server, and returns both sides' states. The server's error comes first, as the client's is
// then only an alert.
func handshake(t *testing.T, server, client *tls.Config) (serverState, clientState tls.ConnectionState, err error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	type result struct {
		state tls.ConnectionState
		err   error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			done <- result{err: err}
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		s := tls.Server(conn, server)
		if err = s.Handshake(); err == nil {
			_, err = s.Write([]byte("x"))
		}
		done <- result{s.ConnectionState(), err}
	}()
	raw, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(time.Minute))
	c := tls.Client(raw, client)
	var one [1]byte
	_, clientErr := c.Read(one[:]) // performs the handshake, and receives the session ticket
	if clientErr != nil {
		raw.Close()
	}
	r := <-done
	if r.err == nil {
		r.err = clientErr
	}
	return r.state, c.ConnectionState(), r.err
}

// stat returns the Stats of a file in use.
func stat(t *testing.T, store *certs.Store, file string) certs.Stats {
	t.Helper()
	for _, s := range store.Snapshot() {
		if s.File == file {
			return s
		}
	}
	t.Fatalf("%s is not in use", file)
	return certs.Stats{}
}
