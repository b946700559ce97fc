package admin

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/certs/certstest"
)

// TestLimitOfClosedConnection: a connection that the limit has closed may still report that its request arrived.
func TestLimitOfClosedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newConnectionLimit(1)
		a, _ := net.Pipe()
		b, _ := net.Pipe()
		l.changed(a, http.StateNew)
		begun := time.Now()
		l.changed(b, http.StateNew) // closes a
		if took := time.Since(begun); took != grace {
			t.Errorf("a connection without a request was kept for %v, want %v", took, grace)
		}
		l.changed(b, http.StateActive)
		l.changed(a, http.StateActive)
		if l.begin(a) || !l.begin(b) {
			t.Error("a handler runs for the closed connection, or none for the other one")
		}
		l.changed(a, http.StateClosed)
		if len(l.open) != 1 {
			t.Errorf("%d connections are open, want 1", len(l.open))
		}
	})
}

// TestLimitWaitsForHandlers: a further connection waits while handlers run for all of them.
func TestLimitWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newConnectionLimit(1)
		a, _ := net.Pipe()
		b, _ := net.Pipe()
		l.changed(a, http.StateNew)
		l.begin(a)
		added := false
		go func() {
			l.changed(b, http.StateNew)
			added = true
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		if added {
			t.Error("a connection was added beyond the limit")
		}
		l.end(a)
		l.changed(a, http.StateClosed)
		synctest.Wait()
		if !added {
			t.Error("the connection waits although another one has ended")
		}
	})
}

// TestLimitClosesAtOnce: a client that does not read its TLS connection delays no other one.
func TestLimitClosesAtOnce(t *testing.T) {
	pair := certstest.NewCA(t, "ca").Issue(t, certstest.Leaf{Names: []string{"localhost"}}).TLS(t)
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		client := tls.Client(far, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // only the end of the connection matters
		server := tls.Server(near, &tls.Config{Certificates: []tls.Certificate{pair}})
		go func() { _, _ = io.WriteString(client, "a") }()
		if _, err := server.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		l := newConnectionLimit(1)
		next, _ := net.Pipe()
		l.changed(server, http.StateNew)
		time.Sleep(grace)
		begun := time.Now()
		l.changed(next, http.StateNew)
		if took := time.Since(begun); took != 0 {
			t.Errorf("closing the connection took %v", took)
		}
		_ = far.Close()
	})
}
