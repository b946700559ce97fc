package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/link/spool"
)

// lines returns messages number from to to-1, one a line.
func lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "{\"n\":%d}\n", i)
	}
	return b.String()
}

// TestPubSpoolKilled ends ferry pub --spool by kill -9 again and again, while the node is killed and started, too. Each message that a
// spool has accepted is stored once, in order.
func TestPubSpoolKilled(t *testing.T) {
	t.Parallel()
	const rounds, each = 10, 500
	dir := t.TempDir()
	addr := "unix://" + filepath.Join(dir, "s") // a port could be taken by another process while the node is away
	data, queue := filepath.Join(dir, "data"), filepath.Join(dir, "unsent")
	config := filepath.Join(dir, "node.yaml")
	text := fmt.Sprintf("listeners: [{address: \"%s\"}]\nadmin: {address: \"off\"}\ndata_dir: %s\nengine: {address: embedded, sync: interval}\nstreams: [{name: orders, tags: orders/#, delivery: at-least-once}]\n", addr, data)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"-a", addr, "--data-dir", data}
	pub := append([]string{"pub", "-q", "-t", "json", "--spool", queue}, flags...)

	var node *exec.Cmd
	startNode := func() {
		node = ferryProcess(t.Context(), "run", "-c", config)
		if err := node.Start(); err != nil {
			t.Fatal(err)
		}
	}
	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	startNode()
	for late := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the node makes the token
		if _, err := os.Stat(filepath.Join(data, "token")); err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatal("the node has made no token")
		}
	}
	accepted := 0
	for round := range rounds {
		cmd := ferryProcess(t.Context(), append(pub, "orders/1")...)
		cmd.Stdin = strings.NewReader(lines(accepted, accepted+each))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+37*round) * time.Millisecond)
		if round%3 == 1 {
			kill(node)
		}
		kill(cmd)
		if round%3 == 2 {
			startNode()
		}
		accepted = spooled(t, queue)
	}
	var stderr bytes.Buffer
	cmd := ferryProcess(t.Context(), append(pub, "orders/1")...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(lines(accepted, accepted+each)), &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("the last ferry pub: %v: %s", err, stderr.String())
	}
	total := accepted + each
	args := append([]string{"sub", "-q", "--from", "first", "-o", "raw", "-n", fmt.Sprint(total)}, flags...)
	got := ferryWith("", append(args, "orders/#")...)
	if got.status != 0 || got.stdout != lines(0, total) {
		t.Errorf("status %d, %q, %d of %d messages, or not in order", got.status, got.stderr, strings.Count(got.stdout, "\n"), total)
	}
	if left := spooled(t, queue); left != total {
		t.Errorf("the spool has taken %d messages, want %d", left, total)
	}
	kill(node)
}

// spooled returns how many messages a spool has accepted.
func spooled(t *testing.T, dir string) int {
	t.Helper()
	s, err := spool.Open(spool.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return int(s.Last())
}
