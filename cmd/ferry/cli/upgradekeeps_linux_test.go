package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry"
	"example.com/ferry/node/admin"
	wire "example.com/ferry/protocol/mqtt"
)

// get reads JSON from the admin server.
func (n *upgradedNode) get(t *testing.T, path string, v any) {
	t.Helper()
	r, err := http.Get("http://" + n.admin + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		t.Fatalf("%s: %s: %v", path, r.Status, err)
	}
}

// until waits until is returns true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// edit replaces a part of the configuration.
func (n *upgradedNode) edit(t *testing.T, old, with string) {
	t.Helper()
	file := filepath.Join(n.dir, "node.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("the configuration has no %q", old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// spools is the bytes of the spools of a link and of a bridge.
type spools struct{ linked, bridged int64 }

func (n *upgradedNode) stored(t *testing.T) spools {
	t.Helper()
	var links, bridges []struct{ SpoolBytes int64 }
	n.get(t, "/api/links", &links)
	n.get(t, "/api/bridges", &bridges)
	if len(links) != 1 || len(bridges) != 1 {
		t.Fatalf("got %v and %v, want a link and a bridge", links, bridges)
	}
	return spools{links[0].SpoolBytes, bridges[0].SpoolBytes}
}

// TestUpgradeKeeps upgrades a node that has an MQTT session, messages for a node and a broker that are away, a function in a process of its
// own, a deployed one, and another log level than at its start. The next process has them all.
func TestUpgradeKeeps(t *testing.T) {
	n := runUpgradedNode(t, `
identities: [{name: device, publish: ['#'], subscribe: ['#']}]
forward: [{name: hub, address: 'tcp://127.0.0.1:1', tags: [far/#], token: the-token-of-this-node}]
bridges: [{name: cloud, address: 'mqtt://127.0.0.1:1', out: [cloud/#]}]
functions: [{name: sum, run: checksum, cpu: worker, processes: 1, observe: [sum/#]}]
log: {level: info}
`, "mqtt://127.0.0.1:0', anonymous: 'device")
	c := mqttConnect(t, n.mqtt, false)
	if c.present {
		t.Error("the session of a new client is present")
	}
	filters := wire.AppendFilter(nil, wire.Subscription{Filter: []byte("orders/m"), QoS: 1})
	c.write(wire.AppendSubscribe(nil, wire.V311, &wire.SubscribePacket{ID: 1, Filters: filters}))
	c.read(wire.Suback)
	_ = c.conn.Close()

	client := n.dial(t, "tcp://"+n.tcp)
	const count = 20
	for i := range count {
		for _, tag := range []string{"far/x", "cloud/x"} {
			if err := client.Send(t.Context(), ferry.Message{Tag: tag, Type: ferry.JSON, Payload: fmt.Appendf(nil, `{"n":%d}`, i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := client.Send(t.Context(), ferry.Message{Tag: "orders/m", Type: ferry.JSON, Payload: []byte(`{"n":0}`)}); err != nil {
		t.Fatal(err)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	stored := n.stored(t)
	deploy := ferryProcess(t.Context(), "deploy", "-a", "tcp://"+n.tcp, "--data-dir", filepath.Join(n.dir, "data"),
		"guest", "../../../stream/wasm/testdata/guest.wasm", "--observe", "in/#")
	if out, err := deploy.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n.edit(t, "level: info", "level: debug")
	if err := syscall.Kill(n.pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	n.log.await(t, "section=log")

	if err := n.upgrade(t); err != nil {
		t.Fatal(err)
	}
	n.dial(t, "tcp://"+n.tcp).Close()
	until(t, "the new process logs the end of a connection", func() bool {
		_, rest, _ := strings.Cut(n.log.await(t, "node ready"), "node ready")
		return strings.Contains(rest, "level=DEBUG")
	})
	if c = mqttConnect(t, n.mqtt, false); !c.present {
		t.Error("the session is lost")
	}
	if m, err := wire.ParsePublish(c.read(wire.Publish)); err != nil || string(m.Topic) != "orders/m" || string(m.Payload) != `{"n":0}` {
		t.Errorf("got %s %q, %v", m.Topic, m.Payload, err)
	}
	if got := n.stored(t); got != stored || stored.linked == 0 || stored.bridged == 0 {
		t.Errorf("the spools have %+v, want %+v", got, stored)
	}
	var functions []admin.Function
	n.get(t, "/api/functions", &functions)
	if len(functions) != 2 {
		t.Fatalf("functions: %+v", functions)
	}
	for _, f := range functions {
		if !f.Running || f.Error != "" || f.Name == "sum" && f.Processes.Ready != 1 || f.Name == "guest" && f.Guest.Number != 1 {
			t.Errorf("function: %+v", f)
		}
	}
}

// TestUpgradeSlices ends the short time slices of the kernel with an upgrade: the configuration says so, and the new process inherits them.
func TestUpgradeSlices(t *testing.T) {
	n := runUpgradedNode(t, "functions: [{name: sum, run: checksum, cpu: heavy, observe: [sum/#]}]\ncpu: {kernel_slices: true}\n")
	slice := func() time.Duration {
		t.Helper()
		attr, err := unix.SchedGetAttr(n.pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(attr.Runtime)
	}
	before := slice()
	if before != 100*time.Microsecond {
		t.Skipf("needs Linux 6.12, where threads have slices: got %v", before)
	}
	n.edit(t, "kernel_slices: true", "kernel_slices: false")
	if err := n.upgrade(t); err != nil {
		t.Fatal(err)
	}
	if got := slice(); got == before {
		t.Errorf("the slice of the new process is %v", got)
	}
}

// TestUpgradeWorkerProgram replaces the program's file, and ends the process of a function: the node starts its own version of the program
// again, whatever the file has now.
func TestUpgradeWorkerProgram(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "ferry")
	if err := os.Link(os.Args[0], program); err != nil { // the test's program is in another file system
		copied, err := os.ReadFile(os.Args[0])
		if err == nil {
			err = os.WriteFile(program, copied, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	yaml := "data_dir: data\nlisteners: [{address: 'tcp://127.0.0.1:0'}]\nadmin: {address: '127.0.0.1:0'}\nlive: {sensors: false}\n" +
		"functions: [{name: sum, run: checksum, cpu: worker, processes: 1, observe: [sum/#]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	log := newWatchedText()
	cmd := process(t.Context(), program, "run", "-c", "node.yaml")
	cmd.Dir, cmd.Stderr = dir, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	_, rest, _ := strings.Cut(log.await(t, "node ready"), "admin=http://")
	n := &upgradedNode{admin: rest[:strings.IndexAny(rest, "/\n")]}
	first := childOf(t, cmd.Process.Pid, "worker")
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the node has started another process", func() bool {
		var functions []admin.Function
		n.get(t, "/api/functions", &functions)
		return functions[0].Restarts == 1 && functions[0].Processes.Ready == 1
	})
}

// childOf returns the process that another one has started with an argument.
func childOf(t *testing.T, parent int, arg string) (pid int) {
	t.Helper()
	until(t, "the process is there", func() bool {
		all, err := os.ReadDir("/proc")
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range all {
			id, err := strconv.Atoi(each.Name())
			if err != nil {
				continue
			}
			stat, err := os.ReadFile(filepath.Join("/proc", each.Name(), "stat"))
			if err != nil {
				continue // it has ended
			}
			_, rest, _ := strings.Cut(string(stat), ") ")
			fields := strings.Fields(rest)
			line, err := os.ReadFile(filepath.Join("/proc", each.Name(), "cmdline"))
			if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(parent) && strings.Contains(string(line), "\x00"+arg+"\x00") {
				pid = id
				return true
			}
		}
		return false
	})
	return pid
}

// TestUpgradeOldDies ends the old process when it gives the streams to the new one. The new one goes on.
func TestUpgradeOldDies(t *testing.T) {
	n := runUpgradedNode(t, "")
	client := n.dial(t, "tcp://"+n.tcp)
	defer client.Close()
	if err := client.Send(t.Context(), ferry.Message{Tag: "orders/0", Type: ferry.JSON, Payload: []byte(`{"n":0}`)}); err != nil {
		t.Fatal(err)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n.pid, syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	text := n.log.await(t, "starts from")
	_, rest, _ := strings.Cut(text, "upgrade: process ")
	word, _, _ := strings.Cut(rest, " ")
	next, err := strconv.Atoi(word)
	if err != nil {
		t.Fatalf("%q names no process", rest)
	}
	t.Cleanup(func() { _ = syscall.Kill(next, syscall.SIGKILL) })
	n.log.await(t, "node has released its streams")
	if err := syscall.Kill(n.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	if err := n.Wait(); err == nil {
		t.Error("the old process was not killed")
	}
	n.pid = next
	n.wants(t, "orders/0", 1)
}
