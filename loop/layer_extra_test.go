package loop

import (
	"net"
	"strings"
	"testing"
)

// updateLayer writes a response of its own for all bytes that it reads, as TLS does for requests of key updates.
type updateLayer struct{ identityLayer }

func (u *updateLayer) Read(p []byte) (int, error) {
	n, err := u.identityLayer.Read(p)
	u.socket.Write(p[:n])
	return n, err
}

// TestLayerResponsesAreBounded: the connection of a peer that causes responses of the layer and reads none of them is reset.
func TestLayerResponsesAreBounded(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		ended := make(chan error, 1)
		to := listen(t, g, through(func() *updateLayer { return &updateLayer{} }, func() Handler {
			return &script{
				data: func(c *Conn, p []byte) int {
					if c.is(dead) {
						t.Error("Data after the end")
					}
					return len(p)
				},
				closed: func(_ *Conn, err error) { ended <- err },
			}
		}))
		conn := connect(t, to)
		_ = conn.(*net.TCPConn).SetReadBuffer(4096)
		for range 1024 { // 64 MiB; the kernel holds a few MiB
			if _, err := conn.Write(make([]byte, 64<<10)); err != nil {
				break
			}
		}
		if err := wait(t, "Closed", ended); err == nil || !strings.Contains(err.Error(), "the peer does not read") {
			t.Errorf("Closed with %v", err)
		}
	})
}

// TestLayerResponsesToAReader: a peer that reads the responses of the layer may cause as many as it likes.
func TestLayerResponsesToAReader(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		to := listen(t, g, through(func() *updateLayer { return &updateLayer{} }, func() Handler { return Base{} }))
		conn := connect(t, to)
		buf := make([]byte, 32<<10)
		for range 100 {
			if _, err := conn.Write(buf); err != nil {
				t.Fatal(err)
			}
			for left := len(buf); left > 0; {
				n, err := conn.Read(buf[:left])
				if err != nil {
					t.Fatal(err)
				}
				left -= n
			}
			// The loop may not know yet that these bytes were sent.
			eventually(t, "an empty queue", func() bool { sum, _ := g.Stats(); return sum.Queues == 0 })
		}
	})
}
