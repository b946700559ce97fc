package http1

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
)

const upgrade = "GET /chat HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: websocket\n\n"

// upgradingServer starts a server that changes to another protocol and then echoes. When the client closes its side,
// the server sends "bye".
func upgradingServer(tb testing.TB) string {
	return proxytest.Script(tb, func(conn net.Conn, r *bufio.Reader) {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if req.Header.Get("Upgrade") == "" {
			io.WriteString(conn, proxytest.CRLF("HTTP/1.1 400 Bad Request\nContent-Length: 0\n\n"))
			return
		}
		io.WriteString(conn, proxytest.CRLF("HTTP/1.1 101 Switching Protocols\nConnection: upgrade\nUpgrade: websocket\n\n")+"hello,")
		io.Copy(conn, r)
		io.WriteString(conn, "bye")
	})
}

func TestTunnel(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		conn := start(t, setup{loop: c, servers: []string{upgradingServer(t)}}).dial()
		conn.Send(upgrade + "early,") // the client need not wait for the response
		resp, err := http.ReadResponse(conn.R, nil)
		if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "websocket" {
			t.Fatalf("got %v, %v", resp, err)
		}
		const size = 4 << 20
		go func() {
			conn.Write(make([]byte, size))
			conn.Conn.(*net.TCPConn).CloseWrite()
		}()
		got, err := io.ReadAll(conn.R)
		if err != nil {
			t.Fatal(err)
		}
		const before, behind = "hello,early,", "bye"
		if len(got) != len(before)+size+len(behind) {
			t.Fatalf("got %d bytes, want %d", len(got), len(before)+size+len(behind))
		}
		if string(got[:len(before)]) != before || string(got[len(got)-len(behind):]) != behind {
			t.Errorf("got %q ... %q", got[:len(before)], got[len(got)-len(behind):])
		}
	})
}

func TestTunnelIdle(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		conn := start(t, setup{loop: c, config: Config{HTTPConfig: exchange.HTTPConfig{BodyTimeout: 10 * brief}}, servers: []string{upgradingServer(t)}}).dial()
		conn.Send(upgrade)
		if resp, err := http.ReadResponse(conn.R, nil); err != nil || resp.StatusCode != 101 {
			t.Fatalf("got %v, %v", resp, err)
		}
		if got, err := io.ReadAll(conn.R); err != nil || string(got) != "hello," {
			t.Errorf("got %q, %v; want the end behind what the server said", got, err)
		}
	})
}

func TestTunnelBreaks(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		conn := start(t, setup{loop: c, servers: []string{proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
			http.ReadRequest(r)
			io.WriteString(conn, proxytest.CRLF("HTTP/1.1 101 Switching Protocols\nConnection: upgrade\nUpgrade: websocket\n\n"))
			r.ReadByte()
			conn.(*net.TCPConn).SetLinger(0)
		})}}).dial()
		conn.Send(upgrade)
		if resp, err := http.ReadResponse(conn.R, nil); err != nil || resp.StatusCode != 101 {
			t.Fatalf("got %v, %v", resp, err)
		}
		conn.Send("x")
		if got, err := io.ReadAll(conn.R); err == nil || len(got) > 0 {
			t.Errorf("got %q, %v; want a reset", got, err)
		}
	})
}

// TestUpgradeNotAllowed requests a protocol that is not allowed. The server gets a request without Upgrade.
func TestUpgradeNotAllowed(t *testing.T) {
	conn := start(t, setup{config: Config{HTTPConfig: exchange.HTTPConfig{Upgrades: []string{"foo"}}}, servers: []string{upgradingServer(t)}}).dial()
	conn.Send(upgrade)
	if resp, _ := conn.ReadResponse("GET"); resp.StatusCode != 400 {
		t.Errorf("status %d, want 400", resp.StatusCode)
	}
}

// If the client of a tunnel has left, the tunnel waits for the server to read the client's bytes, up to a timeout.
func TestTunnelToServerThatDoesNotRead(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		c.HighWater, c.CloseTimeout = 64<<20, brief // so that the proxy notices the client's end
		over := make(chan bool)
		r := start(t, setup{loop: c, config: Config{HTTPConfig: exchange.HTTPConfig{BodyTimeout: brief}}, servers: []string{proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
			conn.(*net.TCPConn).SetReadBuffer(4096)
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			io.WriteString(conn, proxytest.CRLF("HTTP/1.1 101 Switching Protocols\nConnection: upgrade\nUpgrade: websocket\n\n"))
			conn.(*net.TCPConn).CloseWrite()
			<-over
		})}})
		defer close(over)
		conn := r.dial()
		conn.Send(upgrade)
		if resp, err := http.ReadResponse(conn.R, nil); err != nil || resp.StatusCode != 101 {
			t.Fatalf("got %v, %v", resp, err)
		}
		conn.Ends()
		conn.Write(make([]byte, 16<<20))
		conn.Conn.(*net.TCPConn).CloseWrite()
		r.eventually("both connections are closed", func() bool {
			sum, _ := r.Group.Stats()
			return sum.Conns == 0
		})
	})
}
