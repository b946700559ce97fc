package node

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/ferry/protocol/native"
)

// TestReleasedAndStopped ends a node that has released its streams, and that no other node replaces. It closes the sockets of all clients.
func TestReleasedAndStopped(t *testing.T) {
	t.Parallel()
	const clients = 110 // more than ReleaseStreams disconnects at once
	n := build(t, quiet(t))
	stop := run(t, n)
	var address string
	for _, a := range n.Addresses() {
		if addr, ok := strings.CutPrefix(a, "tcp://"); ok {
			address = addr
		}
	}
	hello := native.AppendHello(nil, native.HelloFrame{MinVersion: native.LowestVersion, MaxVersion: native.Version, Token: []byte(n.id.Token())})
	conns := make([]net.Conn, clients)
	for i := range conns {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(hello); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil { // of WELCOME
			t.Fatal(err)
		}
		conns[i] = conn
	}
	if err := n.ReleaseStreams(); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	late := time.Now().Add(20 * time.Second)
	for i, conn := range conns {
		_ = conn.SetReadDeadline(late)
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Fatalf("client %d of %d: %v, want the end of the connection", i, clients, err)
		}
	}
}
