package cli

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ferry"
)

// TestUpgradeWrongConfig upgrades with a configuration that fails after the new process has the streams. The node opens its streams again
// as they were, although its file has the wrong configuration. It does so without drain.delay, and systemd does not hear that it stops.
func TestUpgradeWrongConfig(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	n := runUpgradedNode(t, "drain: {delay: 10m}\n")
	await := func() {
		t.Helper()
		_ = systemd.SetReadDeadline(time.Now().Add(time.Minute))
		buf := make([]byte, 4096)
		for state := ""; state != "READY=1"; {
			size, err := systemd.Read(buf)
			if err != nil {
				t.Fatalf("READY=1 is not reported: %v", err)
			}
			if state = string(buf[:size]); strings.Contains(state, "STOPPING") || strings.Contains(state, "MAINPID") {
				t.Fatalf("reported %q", state)
			}
		}
	}
	await()

	file := filepath.Join(n.dir, "node.yaml")
	right, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(right), "address: '127.0.0.1:0', protocol", "address: '"+webServer(t, "busy")+"', protocol", 1)
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.upgrade(t); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Fatalf("got %v, want an address in use", err)
	}
	await()
	client := n.dial(t, "tcp://"+n.tcp)
	defer client.Close()
	if err := client.Send(t.Context(), ferry.Message{Tag: "orders/0", Type: ferry.JSON, Payload: []byte(`{"n":0}`)}); err != nil {
		t.Fatal(err)
	}
	n.wants(t, "orders/0", 1)
}

// TestUpgradeWatchdog fails an upgrade late. The watchdog of systemd hears that the process is alive while it builds its second node, which takes
// long here because a function does not start before the test says so.
func TestUpgradeWatchdog(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	reports := make(chan string, 10000) // the kernel queues about ten, and a node waits for room
	go func() {
		buf := make([]byte, 4096)
		for {
			size, err := systemd.Read(buf)
			if err != nil {
				return
			}
			reports <- string(buf[:size])
		}
	}()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "150000") // one report each 50 ms
	gate := filepath.Join(t.TempDir(), "gate")
	n := runUpgradedNode(t, "functions: [{name: sum, cpu: worker, processes: 1, observe: [sum/#], command: [sh, -c, '"+
		"if [ -e "+gate+" ]; then read x <"+gate+"; fi; exec "+os.Args[0]+" worker checksum']}]\n")
	n.edit(t, "address: '127.0.0.1:0', protocol", "address: '"+webServer(t, "busy")+"', protocol")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.upgrade(t); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Fatalf("got %v, want an address in use", err)
	}
	open, err := os.OpenFile(gate, os.O_WRONLY, 0) // the function of the second node has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if mark, err := net.Dial("unixgram", socket); err != nil {
		t.Fatal(err)
	} else if _, err := mark.Write([]byte("mark")); err != nil {
		t.Fatal(err)
	}
	next := func(timeout time.Duration) string {
		t.Helper()
		select {
		case text := <-reports:
			return text
		case <-time.After(timeout):
			t.Fatalf("no report within %v", timeout)
			return ""
		}
	}
	for next(time.Minute) != "mark" { // what was reported before
	}
	if got := next(5 * time.Second); got != "WATCHDOG=1" { // a function has 10 s to start
		t.Errorf("reported %q, want WATCHDOG=1", got)
	}
	if _, err := open.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	for next(time.Minute) != "READY=1" {
	}
}

// TestUpgradeInterrupted ends a node while the process that shall replace it hangs. Neither stays.
func TestUpgradeInterrupted(t *testing.T) {
	n := runUpgradedNode(t, "")
	n.program(t, "echo $$ >pid.new; mv pid.new pid; exec sleep 3600")
	cmd := ferryProcess(t.Context(), "upgrade", "--data-dir", filepath.Join(n.dir, "data"), "http://"+n.admin)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var next int
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(n.dir, "pid"))
		if err == nil {
			if next, err = strconv.Atoi(string(bytes.TrimSpace(text))); err != nil {
				t.Fatal(err)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("the new process does not start")
		}
	}
	t.Cleanup(func() { _ = syscall.Kill(next, syscall.SIGKILL) })
	if err := syscall.Kill(n.pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := n.Wait(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(next, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the new process is still there: %v", err)
	}
	if _, err := os.Lstat(n.unix); err == nil {
		t.Error("the file of the Unix domain socket is still there")
	}
	if err := cmd.Wait(); err == nil {
		t.Error("ferry upgrade succeeded")
	}
}
