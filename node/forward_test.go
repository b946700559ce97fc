package node

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/pki"
	"example.com/ferry/link/forward"
	"example.com/ferry/node/backup"
	"example.com/ferry/node/config"
)

const edgeToken = "the token of the edge node"

// hub starts a node that takes the messages of an edge node.
func hub(t *testing.T) *Node {
	t.Helper()
	cfg := quiet(t)
	id := identity("edge", edgeToken, "#")
	id.Verbs = []config.Verb{config.VerbPublish, config.VerbForward, config.VerbTrustValidation}
	cfg.Identities = []config.Identity{id}
	n := build(t, cfg)
	run(t, n)
	return n
}

// linkTo is a link to a listener of a hub.
func linkTo(t *testing.T, h *Node, listener string, tags ...string) config.Forward {
	t.Helper()
	scheme, _, _ := strings.Cut(listener, "://")
	f := config.Forward{Name: "hub", Address: scheme + "://" + addressOf(t, h, listener), Tags: tags, Token: edgeToken}
	if scheme == "quic" {
		f.CAFile = filepath.Join(h.config().DataDir, pki.CAFile)
	}
	return f
}

// awaitLink waits until the only link of n is in a state.
func awaitLink(t *testing.T, n *Node, what string, holds func(forward.Stats) bool) forward.Stats {
	t.Helper()
	end := time.Now().Add(30 * time.Second)
	for {
		if all := n.links.Stats(); len(all) == 1 && holds(all[0]) {
			return all[0]
		}
		if time.Now().After(end) {
			t.Fatalf("the link is not %s: %+v", what, n.links.Stats())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func isConnected(s forward.Stats) bool { return s.Connected && !s.Spooling }

// TestForward: a node forwards its tags to another one over QUIC and TCP, and shows it.
func TestForward(t *testing.T) {
	for _, listener := range []string{"quic://127.0.0.1:0", "tcp://127.0.0.1:0"} {
		t.Run(listener[:4], func(t *testing.T) {
			h := hub(t)
			cfg := quiet(t)
			cfg.Forward = []config.Forward{linkTo(t, h, listener, "a/#")}
			n := build(t, cfg)
			stop := run(t, n)
			awaitLink(t, n, "connected", isConnected)
			got := observe(t, dialTCP(t, addressOf(t, h, "tcp://127.0.0.1:0"), h.id.Token(), nil), "#")
			src := dialTCP(t, addressOf(t, n, "tcp://127.0.0.1:0"), n.id.Token(), nil)
			for i := range 20 {
				for _, tag := range []string{"a/1", "b/1"} {
					if err := src.Send(t.Context(), ferry.Message{Tag: tag, Type: ferry.JSON, Payload: []byte(fmt.Sprint(i))}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := src.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				if m := next(t, got); m.Tag != "a/1" || string(m.Payload) != fmt.Sprint(i) {
					t.Fatalf("message %d is %s %s", i, m.Tag, m.Payload)
				}
			}
			s := awaitLink(t, n, "done", func(s forward.Stats) bool { return s.Confirmed == 20 })
			if s.Node != h.nodeID || s.Node == n.nodeID {
				t.Errorf("the link leads to node %q, want %q", s.Node, h.nodeID)
			}
			if v := h.broker.Snapshot().Validated; v != 0 {
				t.Errorf("the hub has validated %d messages", v)
			}
			if text := fetch(t, n.Admin()+"metrics"); !strings.Contains(text, `ferry_forward_messages_total{link="hub"} 20`) {
				t.Error("/metrics does not count the messages of the link")
			}
			if text := fetch(t, n.Admin()+"ready"); text != "ready\n" {
				t.Errorf("/ready: %q", text)
			}
			if text := fetch(t, n.Admin()+"api/links"); !strings.Contains(text, `"node":"`+h.nodeID+`"`) {
				t.Errorf("/api/links: %s", text)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url) //nolint:noctx // of this test
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestForwardReload: a reload adds, changes and removes links, and refuses what it cannot change, by name.
func TestForwardReload(t *testing.T) {
	first, second := hub(t), hub(t)
	n := build(t, quiet(t))
	run(t, n)
	src := dialTCP(t, addressOf(t, n, "tcp://127.0.0.1:0"), n.id.Token(), nil)
	send := func(tag, text string) {
		t.Helper()
		if err := src.Send(t.Context(), ferry.Message{Tag: tag, Payload: []byte(text)}); err != nil {
			t.Fatal(err)
		}
		if err := src.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	at := func(h *Node) <-chan ferry.Message {
		t.Helper()
		return observe(t, dialTCP(t, addressOf(t, h, "tcp://127.0.0.1:0"), h.id.Token(), nil), "#")
	}
	atFirst, atSecond := at(first), at(second)
	expect := func(from <-chan ferry.Message, want string) {
		t.Helper()
		if m := next(t, from); string(m.Payload) != want {
			t.Fatalf("got %s %q, want %q", m.Tag, m.Payload, want)
		}
	}

	link := linkTo(t, first, "tcp://127.0.0.1:0", "a/#")
	apply(t, n, func(c *config.Config) { c.Forward = []config.Forward{link} })
	awaitLink(t, n, "connected", isConnected)
	send("a/1", "1")
	expect(atFirst, "1")

	link.Tags = []string{"b/#"} // the connection stays
	apply(t, n, func(c *config.Config) { c.Forward = []config.Forward{link} })
	send("a/1", "2")
	send("b/1", "3")
	expect(atFirst, "3")
	if s := n.links.Stats()[0]; s.Connects != 1 {
		t.Errorf("%d connections for a change of the tags", s.Connects)
	}

	link.Address = linkTo(t, second, "tcp://127.0.0.1:0").Address
	apply(t, n, func(c *config.Config) { c.Forward = []config.Forward{link} })
	send("b/1", "4") // also while the link changes its connection
	expect(atSecond, "4")

	refused := link
	refused.Spool.Size = 2 << 20
	err := n.Apply(changed(n, func(c *config.Config) { c.Forward = []config.Forward{refused} }))
	if err == nil || !strings.Contains(err.Error(), "forward[0].spool.size: this change needs a restart") {
		t.Errorf("got %v", err)
	}
	missing := link
	missing.Name, missing.Token, missing.TokenFile = "other", "", filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(missing.TokenFile, []byte(edgeToken), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := linkTo(t, second, "quic://127.0.0.1:0", "#") // it trusts the wrong CA
	bad.Name, bad.CAFile = "bad", ""
	apply(t, n, func(c *config.Config) { c.Forward = []config.Forward{missing, bad} })
	var down forward.Stats
	for end := time.Now().Add(time.Minute); down.Err == nil || !strings.Contains(down.Err.Error(), "certificate"); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got %+v", down)
		}
		down = n.links.Stats()[1]
	}
	if text := fetch(t, n.Admin()+"ready"); !strings.Contains(text, "1 of 2 links are down") {
		t.Errorf("/ready: %q", text)
	}
	apply(t, n, func(c *config.Config) { c.Forward = nil })
	if s := n.links.Stats(); len(s) != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestNodeID: the id is made once, and a malformed one is an error that names the file.
func TestNodeID(t *testing.T) {
	dir := t.TempDir()
	first, err := nodeID(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := nodeID(dir); err != nil || again != first {
		t.Errorf("got %q, %v, want %q", again, err, first)
	}
	if other, err := nodeID(t.TempDir()); err != nil || other == first {
		t.Errorf("two nodes have id %q, %v", other, err)
	}
	if err := os.WriteFile(filepath.Join(dir, backup.NodeIDFile), []byte("a b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := nodeID(dir); err == nil || !strings.Contains(err.Error(), backup.NodeIDFile) {
		t.Errorf("got %v", err)
	}
}
