package loop

import (
	"net"
	"path/filepath"
	"testing"
)

// TestAddressOfAResetConnection: a client resets the connection before the loop accepts it. The system does not know its address any more, but the
// loop does.
func TestAddressOfAResetConnection(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		type seen struct{ addr, ip string }
		opened := make(chan seen, 1)
		to := listen(t, g, accept(func() *script {
			return &script{opened: func(c *Conn) {
				if c.RemoteAddr() == nil {
					opened <- seen{"none", c.RemoteIP()}
					return
				}
				opened <- seen{c.RemoteAddr().String(), c.RemoteIP()}
			}}
		}))
		var want seen
		g.Loops()[0].do(func() {
			client := connect(t, to)
			want = seen{client.LocalAddr().String(), "127.0.0.1"}
			_ = client.(*net.TCPConn).SetLinger(0)
			_ = client.Close()
		})
		if got := wait(t, "Opened", opened); got != want {
			t.Errorf("the client is at %v, want %v", got, want)
		}
	})
}

// TestAddressBehindAReusedNumber: a connection over a Unix domain socket has no IP address, also if its socket has the number of a TCP connection
// that has had one.
func TestAddressBehindAReusedNumber(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		ips, ended := make(chan string, 8), make(chan bool, 8)
		handler := func(c *Conn) Handler {
			ips <- c.RemoteIP()
			return &script{closed: func(*Conn, error) { ended <- true }}
		}
		path := filepath.Join(t.TempDir(), "s")
		if _, err := g.Listen(Addr{Unix: path}, handler); err != nil {
			t.Fatal(err)
		}
		to := listen(t, g, handler)
		for range 2 {
			client := connect(t, to)
			if got := wait(t, "accepting", ips); got != "127.0.0.1" {
				t.Errorf("over TCP: the client is at %q, want 127.0.0.1", got)
			}
			_ = client.Close()
			wait(t, "Closed", ended)
			local, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			if got := wait(t, "accepting", ips); got != "" {
				t.Errorf("over a Unix domain socket: the client is at %q, want no address", got)
			}
			_ = local.Close()
			wait(t, "Closed", ended)
		}
	})
}
