package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/upstream"
)

// TestConnections checks which connections a query matches, and that one can be closed, whose ID then stands for none.
func TestConnections(t *testing.T) {
	t.Parallel()
	for _, goroutines := range []bool{false, true} {
		f := newTLSFiles(t)
		settings := f.server
		settings.ClientCAFile = f.clientCA
		p := start(t, &Config{
			Goroutines: goroutines,
			Listeners: []Listener{
				{Name: "plain", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"},
				{Name: "secure", Address: "127.0.0.1:0", Protocol: HTTP, TLS: &settings, Cluster: "web"},
			},
			Clusters: []upstream.Config{cluster1("web", mute(t))},
		})
		dial := func(i int) net.Conn {
			t.Helper()
			c, err := net.Dial("tcp", at(p, i))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return c
		}
		idle, busy := dial(0), dial(0)
		if _, err := io.WriteString(busy, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil { // the server does not respond
			t.Fatal(err)
		}
		pair := f.clients.Issue(t, certstest.Leaf{CommonName: "edge-1"})
		secured := tls.Client(dial(1), f.client(t, "a.example", pair))
		if err := secured.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		find := func(q ConnectionQuery) map[string]Connection { // by the client's address
			t.Helper()
			q.Limit = 10
			found := map[string]Connection{}
			list, matched, open := p.Connections(q)
			if matched != len(list) || open < matched {
				t.Errorf("%+v: %d of %d match, and %d are listed", q, matched, open, len(list))
			}
			for _, c := range list {
				found[c.Address] = c
			}
			return found
		}
		proxytest.Eventually(t, "all three, one with a request", func() bool {
			all := find(ConnectionQuery{})
			return len(all) == 3 && all[idle.LocalAddr().String()].Idle && !all[busy.LocalAddr().String()].Idle && all[secured.LocalAddr().String()].Identity == "edge-1"
		})
		for _, row := range []struct {
			q    ConnectionQuery
			want int
		}{
			{ConnectionQuery{Listener: "plain"}, 2},
			{ConnectionQuery{Listener: at(p, 1)}, 1},
			{ConnectionQuery{Protocol: HTTP}, 1},
			{ConnectionQuery{Identity: "edge-1"}, 1},
			{ConnectionQuery{Identity: "edge-1", Listener: "plain"}, 0},
			{ConnectionQuery{Protocol: Bolt}, 0},
		} {
			if got := find(row.q); len(got) != row.want {
				t.Errorf("%+v: %d connections, want %d", row.q, len(got), row.want)
			}
		}
		if list, matched, open := p.Connections(ConnectionQuery{Listener: "plain", Limit: 1}); len(list) != 1 || matched != 2 || open != 3 {
			t.Errorf("with limit 1: %d listed, %d match, %d open, want 1, 2 and 3", len(list), matched, open)
		}

		victim := find(ConnectionQuery{})[busy.LocalAddr().String()]
		if err := p.CloseConnection(victim.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := busy.Read(make([]byte, 1)); err == nil {
			t.Error("the connection got a response, want that it is closed")
		}
		for _, id := range []string{victim.ID, "", "0", "9-1", "x-y"} {
			if err := p.CloseConnection(id); !errors.Is(err, ErrUnknownConnection) {
				t.Errorf("connection %q: %v, want %v", id, err, ErrUnknownConnection)
			}
		}
		if left := find(ConnectionQuery{}); len(left) != 2 {
			t.Errorf("%d connections are left, want 2", len(left))
		}
	}
}
