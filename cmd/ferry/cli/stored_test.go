package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/ferry/node/admin"
	"example.com/ferry/node/backup"
)

const storedYAML = `
listeners:
  - address: tcp://127.0.0.1:0
admin:
  address: 127.0.0.1:0
streams:
  - {tags: orders/#, delivery: at-least-once, dead_letter: dead/orders}
  - {tags: dead/#, delivery: at-least-once}
`

// storedNode is a node with streams, and the flags that reach it.
type storedNode struct {
	*runningNode
	client []string // of pub and sub
	admin  []string // of stream and backup
}

func runStored(t *testing.T, yaml string) storedNode {
	t.Helper()
	n := storedNode{runningNode: runNode(t, yaml)}
	address := regexp.MustCompile(`tcp://\S+`).FindString(n.welcome)
	url := regexp.MustCompile(`dashboard: (\S+)/\n`).FindStringSubmatch(n.welcome)
	if address == "" || url == nil {
		t.Fatalf("no addresses in %s", n.welcome)
	}
	data := filepath.Join(n.dir, "ferry-data")
	n.client = []string{"-a", address, "--data-dir", data}
	n.admin = []string{"-a", url[1], "--data-dir", data}
	return n
}

// run runs a verb, which must succeed, and returns its output.
func (n storedNode) run(t *testing.T, flags []string, stdin string, args ...string) string {
	t.Helper()
	got := ferryWith(stdin, append(append([]string{"-q"}, args...), flags...)...)
	if got.status != statusDone || got.stderr != "" {
		t.Fatalf("ferry %q: got %+v", args, got)
	}
	return got.stdout
}

// orders returns the order and the sequence number of each line of ferry sub.
func ordersOf(t *testing.T, output string) (orders []int, sequences []uint64) {
	t.Helper()
	for line := range strings.Lines(output) {
		var m struct {
			Sequence uint64
			Payload  struct{ Order int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		orders, sequences = append(orders, m.Payload.Order), append(sequences, m.Sequence)
	}
	return orders, sequences
}

func TestStoredStreams(t *testing.T) {
	t.Parallel()
	n := runStored(t, storedYAML)
	if !strings.Contains(n.welcome, "pub -a "+n.client[1]+" --ack orders/1\n") || !strings.Contains(n.welcome, "streams: orders, dead, stored by engine embedded, sync always: a message that the node has acknowledged survives a power failure\n") {
		t.Errorf("the welcome is %s", n.welcome)
	}
	n.run(t, n.client, `{"order":1}`+"\n"+`{"order":2}`+"\n"+`{"order":3}`, "pub", "--ack", "orders/a")
	for _, tt := range []struct {
		from  string
		count string
		want  []uint64
	}{{"first", "3", []uint64{1, 2, 3}}, {"2", "2", []uint64{2, 3}}, {"1h", "1", []uint64{1}}} {
		orders, sequences := ordersOf(t, n.run(t, n.client, "", "sub", "--from", tt.from, "--count", tt.count, "orders/#"))
		for i, want := range tt.want {
			if len(sequences) != len(tt.want) || sequences[i] != want || orders[i] != int(want) {
				t.Errorf("from %s: got %v with sequences %v, want %v", tt.from, orders, sequences, tt.want)
				break
			}
		}
	}
	for want := 1; want <= 3; want++ { // what the command has not printed stays for the next one
		orders, _ := ordersOf(t, n.run(t, n.client, "", "sub", "--durable", "billing", "--from", "first", "--count", "1", "orders/#"))
		if len(orders) != 1 || orders[0] != want {
			t.Fatalf("durable: got %v, want %d", orders, want)
		}
	}
	var info admin.StoredState
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if err := json.Unmarshal([]byte(n.run(t, n.admin, "", "stream", "info", "-o", "json", "orders")), &info); err != nil {
			t.Fatal(err)
		}
		if len(info.Durables) == 1 && info.Durables[0].Lag == 0 || time.Now().After(end) {
			break
		}
	}
	if info.Records != 3 || info.Delivery != "at-least-once" || len(info.Durables) != 1 || info.Durables[0].Name != "billing" || info.Durables[0].Lag != 0 {
		t.Errorf("got %+v", info)
	}
	text := n.run(t, n.admin, "", "stream", "info", "orders")
	if !regexp.MustCompile(`(?m)^records: +3, \d+B, sequence 1 to 3$`).MatchString(text) || !regexp.MustCompile(`(?m)^billing +orders/# `).MatchString(text) {
		t.Errorf("got %s", text)
	}
	if got := n.run(t, n.admin, "", "stream", "ls"); !regexp.MustCompile(`(?m)^orders +orders/# +at-least-once +3 .* ok$`).MatchString(got) {
		t.Errorf("got %s", got)
	}
	if got := n.run(t, n.admin, "", "stream", "purge", "--before", "3", "--tags", "orders/a", "orders"); got != "2 records removed\n" {
		t.Errorf("purge: got %s", got)
	}
	if got := n.run(t, n.admin, "", "stream", "purge", "-o", "json", "orders"); got != `{"removed":1}`+"\n" {
		t.Errorf("purge: got %s", got)
	}
	if got := n.run(t, n.admin, "", "stream", "replay-dead-letters", "dead"); got != "0 dead letters replayed\n" {
		t.Errorf("replay: got %s", got)
	}
	if got := ferryWith("", append([]string{"stream", "replay-dead-letters", "orders"}, n.admin...)...); !strings.Contains(got.stderr, "the dead letters of orders are in stream dead: ferry stream replay-dead-letters dead\n") {
		t.Errorf("replay of the wrong stream: got %+v", got)
	}
	if got := ferryWith("", "stream", "rm", "--data-dir", n.admin[3], "dead"); got.status != statusFailed || !strings.Contains(got.stderr, "in use by another process: process ") {
		t.Errorf("rm while the node runs: got %+v", got)
	}
	interruptAndWait(t, n.runningNode)
	if got := ferryWith("", "stream", "rm", "--data-dir", n.admin[3], "none"); got.status != statusFailed || !strings.HasSuffix(got.stderr, "ferry-data has no stream none\n") {
		t.Errorf("rm of no stream: got %+v", got)
	}
	if got := n.run(t, nil, "", "stream", "rm", "--data-dir", n.admin[3], "dead"); got != "dead: 0 records removed\n" {
		t.Errorf("rm: got %s", got)
	}
}

// TestRemoveDurable: a durable is moved and removed unless it has members, and begins again when its name is used again.
func TestRemoveDurable(t *testing.T) {
	t.Parallel()
	n := runStored(t, storedYAML)
	n.run(t, n.client, `{"order":1}`, "pub", "--ack", "orders/a")
	read := []string{"sub", "--durable", "billing", "--from", "first", "--count", "1", "orders/#"}
	member := make(chan outcome, 1)
	go func() {
		member <- ferryWith("", append([]string{"-q", "sub", "--durable", "billing", "--from", "first", "--count", "2", "orders/#"}, n.client...)...)
	}()
	for !strings.Contains(n.run(t, n.admin, "", "stream", "info", "-o", "json", "orders"), `"client":`) {
		time.Sleep(5 * time.Millisecond)
	}
	remove := append([]string{"stream", "rm-durable", "orders", "billing"}, n.admin...)
	if got := ferryWith("", remove...); got.status != statusFailed || !strings.Contains(got.stderr, `durable "billing" of stream "orders" has 1 members: stop them first`) {
		t.Errorf("with a member: got %+v", got)
	}
	reset := append([]string{"stream", "reset-durable", "orders", "billing", "2"}, n.admin...)
	if got := ferryWith("", reset...); got.status != statusFailed || !strings.Contains(got.stderr, "has 1 members: stop them first") {
		t.Errorf("reset with a member: got %+v", got)
	}
	if got := ferryWith("", "stream", "reset-durable", "orders", "billing", "last"); got.status != statusUsage {
		t.Errorf("reset to no place: got %+v", got)
	}
	n.run(t, n.client, `{"order":2}`, "pub", "--ack", "orders/a")
	if got := <-member; got.status != statusDone || strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("the member got %+v, want both messages", got)
	}
	for _, from := range []string{"2", "first", "1h"} {
		if got := n.run(t, n.admin, "", "stream", "reset-durable", "orders", "billing", from); got != "orders: durable billing begins at "+from+"\n" {
			t.Errorf("got %q", got)
		}
		want := 1
		if from == "2" {
			want = 2
		}
		if orders, _ := ordersOf(t, n.run(t, n.client, "", "sub", "--durable", "billing", "--count", "1", "orders/#")); len(orders) != 1 || orders[0] != want {
			t.Errorf("from %s the durable got %v, want message %d", from, orders, want)
		}
	}
	if got := n.run(t, n.admin, "", remove[:4]...); got != "orders: durable billing removed\n" {
		t.Errorf("got %q", got)
	}
	if got := ferryWith("", remove...); got.status != statusFailed || !strings.Contains(got.stderr, "no such durable: billing of stream orders") {
		t.Errorf("twice: got %+v", got)
	}
	if orders, _ := ordersOf(t, n.run(t, n.client, "", read...)); len(orders) != 1 || orders[0] != 1 {
		t.Errorf("the durable began again with %v, want the first message", orders)
	}
}

func interruptAndWait(t *testing.T, n *runningNode) {
	t.Helper()
	if err := n.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := n.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
}

// TestBackupAndRestore saves a node that runs, and starts another one from the archive.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	n := runStored(t, storedYAML)
	n.run(t, n.client, `{"order":1}`+"\n"+`{"order":2}`, "pub", "--ack", "orders/a")
	ordersOf(t, n.run(t, n.client, "", "sub", "--durable", "billing", "--from", "first", "--count", "1", "orders/#"))
	n.run(t, n.client, "", "deploy", "guest", "../../../stream/wasm/testdata/guest.wasm", "--observe", "in/#")
	dir := t.TempDir()
	archive := filepath.Join(dir, "ferry.tar")
	n.run(t, n.admin, "", "backup", archive)
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive has mode %v, %v", info.Mode(), err)
	}
	if got := ferryWith("", append([]string{"backup", archive}, n.admin...)...); got.status != statusFailed || !strings.Contains(got.stderr, "exists: name a new file") {
		t.Errorf("an archive twice: %+v", got)
	}
	if got := ferryWith("", "restore", "--data-dir", filepath.Join(n.dir, "ferry-data"), archive); got.status != statusFailed || !strings.Contains(got.stderr, "ferry-data has ca.key already: restore into a new directory") {
		t.Errorf("restore over a store: %+v", got)
	}
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, module := bytes.Index(data, []byte("data/functions/guest/deployment.json")), bytes.Index(data, []byte("data/functions/guest/1.wasm")); manifest < 0 || module < manifest {
		t.Errorf("the list of versions is at %d, and a module at %d, want the list first", manifest, module)
	}
	cut := filepath.Join(dir, "cut.tar")
	if err := os.WriteFile(cut, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ferryWith("", "restore", "--data-dir", filepath.Join(dir, "none"), cut); got.status != statusFailed || !strings.Contains(got.stderr, backup.ErrIncomplete.Error()) {
		t.Errorf("half an archive: %+v", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("half an archive left %v, %v", entries, err)
	}
	restored := filepath.Join(dir, "restored")
	if got := n.run(t, nil, "", "restore", "--data-dir", restored, archive); !strings.HasPrefix(got, restored+": 2 streams, as of ") {
		t.Errorf("got %s", got)
	}
	for _, f := range backup.Files {
		was, err := os.ReadFile(filepath.Join(n.dir, "ferry-data", f.Name))
		now, nowErr := os.ReadFile(filepath.Join(restored, f.Name))
		info, statErr := os.Stat(filepath.Join(restored, f.Name))
		if err != nil || nowErr != nil || statErr != nil || !bytes.Equal(was, now) || info.Mode() != f.Mode {
			t.Errorf("%s: %v, %v, %v, mode %v, want %v", f.Name, err, nowErr, statErr, info.Mode(), f.Mode)
		}
	}
	interruptAndWait(t, n.runningNode)

	n = runStored(t, storedYAML+"data_dir: "+restored+"\n")
	n.client[3], n.admin[3] = restored, restored
	if orders, _ := ordersOf(t, n.run(t, n.client, "", "sub", "--from", "first", "--count", "2", "orders/#")); len(orders) != 2 || orders[0] != 1 || orders[1] != 2 {
		t.Errorf("after the restoration: %v", orders)
	}
	if orders, _ := ordersOf(t, n.run(t, n.client, "", "sub", "--durable", "billing", "--count", "1", "orders/#")); len(orders) != 1 || orders[0] != 2 {
		t.Errorf("the durable goes on with %v, want 2", orders)
	}
	if got := n.run(t, n.client, "", "deploy", "--list", "-o", "json"); !strings.Contains(got, `{"name":"guest","current":1,"versions":[`) {
		t.Errorf("after the restoration these functions are deployed: %s", got)
	}
	interruptAndWait(t, n.runningNode)
}

// TestStoredStreamsRefused: what does not go says why, and what to do.
func TestStoredStreamsRefused(t *testing.T) {
	t.Parallel()
	n := runStored(t, storedYAML+"deploy: {subscribe: [in/#]}\n")
	none := t.TempDir()
	for _, tt := range []struct {
		name, want string
		status     int
		args       []string
	}{
		{"no such stream", "no such stream: none", statusFailed, append([]string{"stream", "info", "none"}, n.admin...)},
		{"nothing to deploy", "nothing to do: give NAME and FILE", statusUsage, append([]string{"deploy"}, n.client...)},
		{"a function without a module", "no FILE", statusUsage, append([]string{"deploy", "a"}, n.client...)},
		{"deploy and list", "NAME and --list: give one of them", statusUsage, append([]string{"deploy", "a", "b", "--list"}, n.client...)},
		{"a new function that observes nothing", "say which tags it observes", statusFailed, append([]string{"deploy", "a", "../../../stream/wasm/testdata/guest.wasm"}, n.client...)},
		{"a function that may not observe its tag", "b: version 1 is in use and does not run: ", statusFailed, append([]string{"deploy", "b", "../../../stream/wasm/testdata/guest.wasm", "--observe", "other"}, n.client...)},
		{"a function that is not deployed", "no such function is deployed: none", statusFailed, append([]string{"deploy", "--rollback", "none"}, n.client...)},
		{"a purge without the token", "name the file with its token with --admin-token-file", statusFailed, []string{"stream", "purge", "orders", "-a", n.admin[1], "--data-dir", none}},
		{"a backup without the token", "name the file with its token with --admin-token-file", statusFailed, []string{"backup", filepath.Join(none, "a.tar"), "-a", n.admin[1], "--data-dir", none}},
		{"bad filter", `--tags: filter "a/#/b"`, statusUsage, append([]string{"stream", "purge", "orders", "--tags", "a/#/b"}, n.admin...)},
		{"no verb", `expected one of "ls"`, statusUsage, []string{"stream"}},
		{"a copy to nowhere", "missing flags: --to=ADDR or --to-dir=DIR", statusUsage, []string{"stream", "copy", "orders"}},
		{"a copy to embedded", "--to embedded is an engine within a node", statusUsage, []string{"stream", "copy", "orders", "--to", "embedded"}},
		{"a copy to no server", "nats://127.0.0.1:1 does not start", statusFailed, append([]string{"stream", "copy", "orders", "--to", "nats://127.0.0.1:1"}, n.admin...)},
		{"a store in use", "ferry-data/node.lock", statusFailed, []string{"stream", "copy", "orders", "--to", "nats://127.0.0.1:1", "--from-dir", n.admin[3]}},
		{"from an unknown place", `--from "last": want first, a sequence number`, statusUsage, append([]string{"sub", "--from", "last", "orders/#"}, n.client...)},
		{"from with a policy", "--policy drop-oldest is for messages as they arrive", statusUsage, append([]string{"sub", "--from", "first", "--policy", "drop-oldest", "orders/#"}, n.client...)},
		{"a filter wider than a stream", "orders (orders/#)", statusFailed, append([]string{"sub", "--from", "first", "#"}, n.client...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ferryWith("", tt.args...)
			if got.status != tt.status || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("got %+v, want status %d and %q", got, tt.status, tt.want)
			}
		})
	}
	interruptAndWait(t, n.runningNode)
}
