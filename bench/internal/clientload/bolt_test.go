package clientload

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// TestBoltAgain: a request is sent again if the connection was closed before the server had it, and has failed if the server had it.
func TestBoltAgain(t *testing.T) {
	s, err := NewBoltServer()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var mode atomic.Int32 // 0: forwards, 1: closes instead, once, 2: loses the response
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", s.Addr)
			if err != nil {
				return
			}
			back := make(chan struct{})
			go func() {
				defer close(back)
				buf := make([]byte, 4096)
				for {
					n, err := up.Read(buf)
					if err != nil || mode.Load() == 2 {
						_ = c.Close()
						return
					}
					_, _ = c.Write(buf[:n])
				}
			}()
			go func() {
				buf := make([]byte, 4096)
				for {
					n, err := c.Read(buf)
					if err != nil || mode.CompareAndSwap(1, 0) {
						break
					}
					_, _ = up.Write(buf[:n])
				}
				_, _ = c.Close(), up.Close()
				<-back
			}()
		}
	}()
	c, err := Bolt{Addr: l.Addr().String(), Server: s}.Kind().Connect(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, row := range []struct {
		id    string
		mode  int32
		again int
		fails string
	}{{"a", 0, 0, ""}, {"b", 1, 1, ""}, {"c", 0, 0, ""}, {"d", 2, 0, errGone.Error()}, {"a", 0, 0, "has arrived 2 times"}} {
		mode.Store(row.mode)
		again, err := c.Do(t.Context(), row.id)
		if again != row.again || (err != nil) != (row.fails != "") || err != nil && !strings.Contains(err.Error(), row.fails) {
			t.Errorf("%s: got %d, %v, want %d, %q", row.id, again, err, row.again, row.fails)
		}
	}
}
