package examples_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bench is a directory laid out like this repository, in which the examples run as they stand.
type bench struct{ dir, bin string }

func build(t *testing.T) bench {
	t.Helper()
	b := bench{dir: t.TempDir(), bin: t.TempDir()}
	out, err := exec.Command("go", "build", "-o", b.bin, "example.com/ferry/cmd/ferry", "example.com/ferry/examples/function").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	if err := os.CopyFS(filepath.Join(b.dir, "examples"), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b bench) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, name), args...)
	cmd.Dir = b.dir
	return cmd
}

// start runs a command until the test ends; until then it can be interrupted. It returns when the first line was printed.
func (b bench) start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := b.command(t.Context(), name, args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		_ = cmd.Wait()
		t.Fatalf("%s %q printed nothing: %v: %s", name, args, err, stderr.String())
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return cmd
}

func interrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%q after an interrupt: %v", cmd.Args, err)
	}
}

// hears runs ferry sub with args for one message, and publishes until it came.
func (b bench) hears(t *testing.T, flags []string, filter, tag, payload string) string {
	t.Helper()
	sub := b.command(t.Context(), "ferry", append(append([]string{"sub", "--count", "1"}, flags...), filter)...)
	var stdout bytes.Buffer
	sub.Stdout = &stdout
	if err := sub.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- sub.Wait() }()
	for {
		pub := b.command(t.Context(), "ferry", append(append([]string{"pub", "-q", "--ack"}, flags...), tag)...)
		pub.Stdin = strings.NewReader(payload)
		if out, err := pub.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", pub.Args, err, out)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%q: %v", sub.Args, err)
			}
			return stdout.String()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestNode(t *testing.T) {
	b := build(t)
	node := b.start(t, "ferry", "run", "-c", "examples/node/node.yaml")
	flags := []string{"-a", "quic://127.0.0.1:4290", "--data-dir", "ferry-data/node"}
	if got := b.hears(t, flags, "#", "demo", `{"a":1}`); !strings.HasSuffix(got, `"type":"json","payload":{"a":1}}`+"\n") {
		t.Errorf("got %q", got)
	}
	interrupt(t, node)
}

func TestFunction(t *testing.T) {
	b := build(t)
	node := b.start(t, "ferry", "run", "-c", "examples/function/node.yaml")
	function := b.command(t.Context(), "function")
	if err := function.Start(); err != nil {
		t.Fatal(err)
	}
	flags := []string{"-a", "tcp://127.0.0.1:4390", "--data-dir", "ferry-data/function"}
	got := b.hears(t, flags, "alerts/#", "sensors/pump-1", `{"readings":[{"value":"30"}]}`+"\n"+`{"readings":[{"value":"31"}]}`)
	if !strings.HasPrefix(got, `{"tag":"alerts/pump-1",`) || !strings.HasSuffix(got, `"payload":{"readings":[{"value":"31"}]}}`+"\n") {
		t.Errorf("got %q, want an alert with 31, and none with 30 before it", got)
	}
	interrupt(t, function)
	interrupt(t, node)
}

func TestMessages(t *testing.T) {
	b := build(t)
	for _, c := range []struct{ path, file, want string }{
		{"readings.0.value", "event.cbor", "30.5\n"},
		{"0x01.0x10.0x13", "noise.y3", "73\n"},
	} {
		out, err := b.command(t.Context(), "ferry", "get", "-q", c.path, filepath.Join("examples/messages", c.file)).CombinedOutput()
		if err != nil || string(out) != c.want {
			t.Errorf("%s of %s: got %q, %v, want %q", c.path, c.file, out, err, c.want)
		}
	}
}
