package node

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"example.com/ferry/node/config"
)

// TestRefusedListener: a reload that is refused disconnects the clients that its new listener has already accepted.
func TestRefusedListener(t *testing.T) {
	cfg := quiet(t)
	n := build(t, cfg)
	t.Cleanup(n.Close)
	l, err := n.newListener(config.Listener{Address: "http://127.0.0.1:0", Validate: config.ValidateFull}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.bound.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, "GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	b := bufio.NewReader(c)
	res, err := http.ReadResponse(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	(&relisten{node: n, added: []*listener{l}}).abort()
	if _, err := b.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is still open: %v", err)
	}
}
