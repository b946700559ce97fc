package http2

import (
	"net"
	"testing"
	"time"

	"example.com/ferry/proxy/proxytest"

	wire "example.com/ferry/protocol/http2"
)

// TestDiscardIsBounded: a client that goes on sending after GOAWAY, and reads nothing, is reset once it has sent more than the
// connection's window allows.
func TestDiscardIsBounded(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(proxytest.Patience)); err != nil {
		t.Fatal(err)
	}
	settings, data := make([]byte, 9), make([]byte, 64<<10)
	settings[3] = 4
	if _, err := c.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settings...)); err != nil {
		t.Fatal(err)
	}
	data[3], data[8] = 6, 1 // PING on a stream
	sent := 0
	for ; err == nil; sent += len(data) {
		_, err = c.Write(data)
	}
	if most := wire.DefaultConnWindow + 31<<20; sent > most { // systems buffer some MiB
		t.Errorf("the proxy has discarded %d bytes, want %d at most", sent, most)
	}
	r.settled()
}
