//go:build linux

package proof

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/pki"
	"example.com/ferry/stream"
)

// nodeConfig says how a node stores its streams.
type nodeConfig struct {
	name    string
	dataDir string // empty means a directory of its own
	engine  string // the value of engine in the configuration: a YAML mapping in one line
	streams string // the value of streams: a YAML sequence in one line
}

// runningNode is a process of the program ferry that runs a node.
type runningNode struct {
	*process
	addr, admin string
	dataDir     string
}

// startNode starts a node and waits until it is ready.
func startNode(t *testing.T, c nodeConfig) *runningNode {
	t.Helper()
	n := newNode(t, c)
	n.start()
	n.awaitReady()
	return n
}

// newNode returns a node that was not started.
func newNode(t *testing.T, c nodeConfig) *runningNode {
	t.Helper()
	program, err := ferryProgram()
	if err != nil {
		t.Fatal(err)
	}
	ports := freePorts(t, 2)
	n := &runningNode{addr: ports[0], admin: ports[1], dataDir: c.dataDir}
	dir := t.TempDir()
	if n.dataDir == "" {
		n.dataDir = filepath.Join(dir, "data")
	}
	file := filepath.Join(dir, c.name+".yaml")
	text := fmt.Sprintf("listeners: [{address: tcp://%s}]\nadmin: {address: %s}\ndata_dir: %s\nengine: %s\nstreams: %s\n", n.addr, n.admin, n.dataDir, c.engine, c.streams)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n.process = newProcess(t, c.name, program, "run", "-c", file)
	return n
}

// awaitReady waits until /ready succeeds.
func (n *runningNode) awaitReady() {
	n.t.Helper()
	await(n.t, n.name+" is ready", func() bool {
		if n.gone() {
			n.t.Fatalf("%s has ended before it was ready", n.name)
		}
		return n.ready()
	})
}

func (n *runningNode) ready() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.admin+"/ready", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// token returns the local token, once the node has made it.
func (n *runningNode) token() string {
	n.t.Helper()
	token, err := pki.ReadToken(filepath.Join(n.dataDir, "token"))
	if err != nil {
		n.t.Fatal(err)
	}
	return token
}

// client returns a client of the node. The end of the test closes it.
func (n *runningNode) client(name string) *stream.Client {
	n.t.Helper()
	c, err := dial(n.t.Context(), n.addr, name, n.token())
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = c.Close() })
	return c
}

// memory returns the private memory of the process in bytes.
func (n *runningNode) memory() int64 {
	n.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.pid()))
	if err != nil {
		n.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	n.t.Fatal(errors.New("/proc has no RssAnon"))
	return 0
}

// freePorts returns addresses at which nothing listens. A process that is started later may lose one to another process; the
// range of ports makes that unlikely.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var all []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all = append(all, l.Addr().String())
	}
	return all
}
