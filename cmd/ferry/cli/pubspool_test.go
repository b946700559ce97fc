package cli

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/link/spool"
)

// TestPubSpool: ferry pub --spool takes messages while the node is away and keeps them after Ctrl-C. The next one publishes them
// before its own, and ends.
func TestPubSpool(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := "tcp://" + l.Addr().String()
	_ = l.Close()
	dir := filepath.Join(t.TempDir(), "unsent")

	var stderr bytes.Buffer
	cmd := ferryProcess(t.Context(), "pub", "-a", away, "--data-dir", n.dir, "--spool", dir, "open/spooled")
	cmd.Stdin, cmd.Stderr = strings.NewReader("{\"n\":0}\n{\"n\":1}\n"), &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) { // until both are stored
		files, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 1 {
			if info, err := os.Stat(files[0]); err == nil && info.Size() == 32+2*(67+int64(len("open/spooled")+len(`{"n":0}`))) {
				break
			}
		}
		if time.Now().After(late) {
			t.Fatalf("not stored: %v, %s", files, stderr.String())
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("ferry pub: interrupted\n2 messages are left in %s: the next ferry pub --spool %s publishes them first\n", dir, dir)
	if err := cmd.Wait(); exitStatus(err) != statusFailed || !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("status %d, %q, want 1 and %q", exitStatus(err), stderr.String(), want)
	}

	done := n.subscribe(t, n.tcp, "-n3", "-o", "raw", "open/spooled")
	n.publish(t, n.tcp, "{\"n\":2}\n", "--spool", dir, "open/spooled")
	if got := <-done; got != (outcome{stdout: "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n"}) {
		t.Errorf("got %+v, want three messages in order", got)
	}
	if got := ferryWith("", "pub", "-a", n.tcp, "--data-dir", n.dir, "--spool", dir, "open/spooled"); got.status != statusFailed || !strings.Contains(got.stderr, "standard input is empty") {
		t.Errorf("an empty spool and nothing to publish: got %+v", got)
	}
}

// TestPubSpoolInUse: two commands cannot use one directory.
func TestPubSpoolInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := spool.Open(spool.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := ferryWith("{}", "pub", "--spool", dir, "a"); got.status != statusFailed || !strings.Contains(got.stderr, fmt.Sprintf("in use by another process: process %d holds %s", os.Getpid(), dir)) {
		t.Errorf("got %+v, want who uses it", got)
	}
}

func TestRoughly(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 10239: "10239 bytes", 10240: "10KiB", 1<<20 + 5: "1MiB", 12<<20 + 99: "12MiB", 300 << 30: "300GiB"} {
		if got := roughly(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
