package node

import (
	"errors"
	"testing"

	"example.com/ferry/node/admin"
)

// TestIDsOfAnotherProcess runs a node twice. An ID that the first one has listed closes no connection of the second one.
func TestIDsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	cfg := quiet(t)
	cfg.Proxy = inFrontOf(web(t, "a server"))
	var before []string
	for range 2 {
		n := build(t, cfg)
		stop := run(t, n)
		if _, err := client(t, n, "tcp", n.id.Token()); err != nil {
			t.Fatal(err)
		}
		if status, body := get(t, through(t, n)); status != 200 {
			t.Fatal(status, body)
		}
		list := connections{n.broker, n.schemeOf, n.proxy}
		for _, id := range before {
			if err := list.CloseConnection(id); !errors.Is(err, admin.ErrNoConnection) {
				t.Errorf("the ID %s of the node before: %v, want %v", id, err, admin.ErrNoConnection)
			}
		}
		kinds := map[byte]bool{}
		for _, c := range list.Connections(admin.ConnectionQuery{Limit: 100}).Connections {
			before = append(before, c.ID)
			kinds[c.ID[0]] = true
		}
		if len(kinds) != 2 {
			t.Errorf("connections %q, want some of streams and of the proxy", before)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}
