package relay

import (
	"context"
	"io"
	"testing"
	"time"

	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// TestSplit: connections reach the listener of their protocol with all of their bytes, and one that sends nothing is closed.
func TestSplit(t *testing.T) {
	t.Parallel()
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "here")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dial := func() transport.Conn {
		c, err := network.Dial(ctx, "here")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		return c
	}
	http2, http1, _ := Split(l, 20*time.Millisecond, 10)
	for text, to := range map[string]transport.Listener{"PRI * HTTP/2.0": http2, "PUT / HTTP/1.1": http1} {
		if _, err := io.WriteString(dial(), text); err != nil {
			t.Fatal(err)
		}
		c, err := to.Accept(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(text))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
			t.Errorf("got %q, %v, want %q", got, err, text)
		}
		_ = c.Close()
	}
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("a silent connection gets bytes")
	}
	if err := http2.Close(); err != nil {
		t.Fatal(err)
	}
	dial() // http1 still listens
	if err := http1.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := network.Dial(ctx, "here"); err == nil {
		t.Error("the address is still bound when both listeners are closed")
	}
}
