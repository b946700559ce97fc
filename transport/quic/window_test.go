package quic_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"example.com/ferry/transport"
	"example.com/ferry/transport/quic"
)

// writeUntilBlocked writes to streams until flow control stops all of them. It returns the number of bytes that QUIC accepted.
func writeUntilBlocked(t *testing.T, streams []net.Conn) int {
	t.Helper()
	taken := make(chan int)
	for _, s := range streams {
		_ = s.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
		go func() {
			n, err := s.Write(make([]byte, 4<<20))
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Write = %v, want os.ErrDeadlineExceeded", err)
			}
			taken <- n
		}()
	}
	total := 0
	for range streams {
		total += <-taken
	}
	return total
}

func openStreams(t *testing.T, c transport.Conn, n int) []net.Conn {
	t.Helper()
	all := []net.Conn{c}
	for len(all) < n {
		s, err := c.(transport.Multi).OpenStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// TestUnidentifiedPeerIsBounded writes on many streams to a server that has not called PeerIdentified. The server reads
// nothing.
func TestUnidentifiedPeerIsBounded(t *testing.T) {
	server, client, _ := identity(t)
	dialed, _ := connect(t, &quic.Config{ServerTLS: server, Linger: -1}, &quic.Config{ClientTLS: client, Linger: -1})
	if got := writeUntilBlocked(t, openStreams(t, dialed, 8)); got > 128<<10 {
		t.Errorf("the server holds %d bytes of a client it has not identified, want at most 128 KiB", got)
	}
}
