package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/node"
	"example.com/ferry/stream"
)

const upgradeYAML = `data_dir: data
listeners: [{address: 'tcp://127.0.0.1:0'}, {address: 'quic://127.0.0.1:0'}, {address: 'unix://%[1]s'}%[3]s]
engine: {address: embedded, sync: interval}
streams: [{name: orders, tags: orders/#, delivery: at-least-once, retention: {age: 1h}}]
proxy:
  listeners: [{address: '127.0.0.1:0', protocol: http1, cluster: web}]
  clusters: [{name: web, endpoints: [{address: '%[2]s'}]}]
admin: {address: '127.0.0.1:0'}
live: {sensors: false}
`

// upgradedNode is a node whose processes replace each other. The test ends the last one.
type upgradedNode struct {
	*runningNode
	tcp, quic, unix, web, admin, mqtt string
	pid                               int          // of the process that serves
	log                               *watchedText // of all processes, after the first one was ready
}

// runUpgradedNode runs a node with upgradeYAML, more, and more listeners.
func runUpgradedNode(t *testing.T, more string, listeners ...string) *upgradedNode {
	t.Helper()
	n := &upgradedNode{unix: filepath.Join(t.TempDir(), "s"), log: newWatchedText()}
	var added string
	for _, l := range listeners {
		added += ", {address: '" + l + "'}"
	}
	n.runningNode = runNode(t, fmt.Sprintf(upgradeYAML, n.unix, webServer(t, "web"), added)+more)
	n.pid = n.Process.Pid
	t.Cleanup(func() { _ = syscall.Kill(n.pid, syscall.SIGKILL) })
	line, err := n.stderr.ReadString('\n')
	for ; err == nil && !strings.Contains(line, "node ready"); line, err = n.stderr.ReadString('\n') {
	}
	if err != nil {
		t.Fatal(err)
	}
	for scheme, address := range map[string]*string{"tcp": &n.tcp, "quic": &n.quic, "http1": &n.web, "admin=http": &n.admin, "mqtt": &n.mqtt} {
		_, rest, found := strings.Cut(line, scheme+"://")
		if !found {
			continue
		}
		*address = rest[:strings.IndexAny(rest+" ", " ]/\"")]
	}
	go func() { _, _ = io.Copy(io.MultiWriter(t.Output(), n.log), n.stderr) }()
	return n
}

// upgrade runs ferry upgrade, and notes the new process.
func (n *upgradedNode) upgrade(t *testing.T) error {
	t.Helper()
	cmd := ferryProcess(t.Context(), "upgrade", "--data-dir", filepath.Join(n.dir, "data"), "http://"+n.admin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	_, rest, _ := strings.Cut(string(out), "process ")
	pid, _, _ := strings.Cut(rest, " ")
	next, err := strconv.Atoi(pid)
	if err != nil || next == n.pid {
		t.Fatalf("printed %q, want the new process", out)
	}
	n.pid = next
	return nil
}

// program replaces the program by a script.
func (n *upgradedNode) program(t *testing.T, script string) {
	t.Helper()
	path := filepath.Join(n.dir, "ferry")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/bash\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// dial returns a client that publishes until the test ends it.
func (n *upgradedNode) dial(t *testing.T, to string) *stream.Client {
	t.Helper()
	scheme, rest, _ := strings.Cut(to, "://")
	i := slices.IndexFunc(node.Transports(), func(t node.Transport) bool { return t.Scheme == scheme })
	at := nodeFlags{Addr: address{node.Transports()[i], rest}, DataDir: filepath.Join(n.dir, "data")}
	e := &env{stdout: newWatchedText(), stderr: newWatchedText(), extensions: builtin(), formats: builtin().Formats}
	client, err := at.dial(t.Context(), e, stream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestUpgrade replaces a node's process under load: by itself, by a program that does not start, and by one that fails when it has the
// streams. No request fails, and no stored message is lost.
func TestUpgrade(t *testing.T) {
	n := runUpgradedNode(t, "")
	load := startLoad("http://"+n.web+"/", 4)
	var publishers sync.WaitGroup
	enough := make(chan struct{})
	sent := make([]int, 3)
	for i, address := range []string{"tcp://" + n.tcp, "quic://" + n.quic, "unix://" + n.unix} {
		client := n.dial(t, address)
		publishers.Go(func() {
			defer client.Close()
			for {
				select {
				case <-enough:
					return
				default:
				}
				m := ferry.Message{Tag: fmt.Sprintf("orders/%d", i), Type: ferry.JSON, Payload: fmt.Appendf(nil, `{"n":%d}`, sent[i])}
				if err := client.Send(t.Context(), m); err != nil {
					t.Errorf("%s: message %d: %v", address, sent[i], err)
					return
				}
				sent[i]++
				time.Sleep(time.Millisecond)
			}
		})
	}
	for _, step := range []struct {
		name, script string
		fails        string
	}{
		{"itself", `exec -a "$0" ` + os.Args[0] + ` "$@"`, ""},
		{"a program that does not start", "echo no such library >&2; exit 127", "exit status 127"},
		{"once more", `exec -a "$0" ` + os.Args[0] + ` "$@"`, ""},
		{"a node that fails when it has the streams", `exec -a "$0" ` + os.Args[0] + " run -c wrong.yaml", "in use"},
		{"and again", `exec -a "$0" ` + os.Args[0] + ` "$@"`, ""},
	} {
		right, err := os.ReadFile(filepath.Join(n.dir, "node.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		busy := webServer(t, "busy") // its address is in use
		wrong := strings.Replace(string(right), "address: '127.0.0.1:0', protocol", "address: '"+busy+"', protocol", 1)
		if err := os.WriteFile(filepath.Join(n.dir, "wrong.yaml"), []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		n.program(t, step.script)
		var failed error
		for end := time.Now().Add(time.Minute); ; { // a node that opens its streams again does not upgrade yet
			failed = n.upgrade(t)
			if failed == nil || time.Now().After(end) || step.fails != "" && strings.Contains(failed.Error(), step.fails) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if step.fails == "" && failed != nil || step.fails != "" && (failed == nil || !strings.Contains(failed.Error(), step.fails)) {
			t.Fatalf("%s: got %v, want %q", step.name, failed, step.fails)
		}
		before := load.requests.Load()
		for end := time.Now().Add(time.Minute); load.requests.Load() < before+20 && len(load.fails) == 0; {
			if time.Now().After(end) {
				t.Fatalf("%s: no requests afterwards", step.name)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	load.end(t)
	close(enough)
	publishers.Wait()
	for i, count := range sent {
		n.wants(t, fmt.Sprintf("orders/%d", i), count)
	}
	if _, err := http.Get("http://" + n.admin + "/ping"); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(n.pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// wants reads a tag from its first message on, and checks that no message is missing.
func (n *upgradedNode) wants(t *testing.T, tag string, count int) {
	t.Helper()
	if count == 0 {
		t.Errorf("%s: no message was published", tag)
		return
	}
	cmd := ferryProcess(t.Context(), "sub", "-a", "tcp://"+n.tcp, "--data-dir", filepath.Join(n.dir, "data"), "--from", "first", tag)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	missing := make(map[string]bool, count)
	for i := range count {
		missing[fmt.Sprintf(`"n":%d}`, i)] = true
	}
	stop := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	for lines := bufio.NewReader(stdout); len(missing) > 0; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Errorf("%s: %d of %d messages are missing: %v", tag, len(missing), count, err)
			return
		}
		if _, rest, ok := strings.Cut(line, `"n":`); ok {
			number, _, _ := strings.Cut(rest, "}")
			delete(missing, `"n":`+number+"}")
		}
	}
}
