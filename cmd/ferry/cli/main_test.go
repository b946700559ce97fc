package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/format/all"
	"example.com/ferry/node"
)

// asFerry is set for a test binary that runs as ferry.
const asFerry = "FERRY_TEST_IS_FERRY"

// builtin returns what cmd/ferry passes to Main.
func builtin() node.Extensions {
	formats := all.Formats()
	return node.Extensions{Formats: formats, Transports: node.Transports(), Functions: node.Functions(formats)}
}

func TestMain(m *testing.M) {
	if os.Getenv(asFerry) != "" {
		os.Exit(Main(builtin()))
	}
	os.Exit(m.Run())
}

// ferryProcess returns a ferry process, which is killed at the end of the test.
func ferryProcess(ctx context.Context, args ...string) *exec.Cmd {
	return process(ctx, os.Args[0], args...)
}

func process(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), asFerry+"=1")
	return cmd
}

func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// TestSubInterrupted checks that Ctrl-C ends ferry sub with status 0.
func TestSubInterrupted(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		var stderr bytes.Buffer
		tag := "open/" + sig.String()
		cmd := ferryProcess(t.Context(), "sub", "-a", n.tcp, "--data-dir", n.dir, tag)
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		n.await(tag)
		n.publish(t, n.tcp, "{}", "-t", "json", tag)
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil || !strings.Contains(line, `"tag":"`+tag+`"`) {
			t.Errorf("got %q, %v, want the message", line, err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); exitStatus(err) != 0 || stderr.String() != "" {
			t.Errorf("%v: status %d, %q, want 0 and silence", sig, exitStatus(err), stderr.String())
		}
	}
}

// TestSubIntoClosedPipe checks that ferry sub ends without an error when the reader of its output ends.
func TestSubIntoClosedPipe(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	var stderr bytes.Buffer
	cmd := ferryProcess(t.Context(), "sub", "-a", n.tcp, "--data-dir", n.dir, "open/#")
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.await("open/#")
	stdout.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for { // a process that another test is starting may inherit the pipe for a moment
		n.publish(t, n.tcp, "{}", "-t", "json", "open/a")
		select {
		case err := <-ended:
			if exitStatus(err) != 0 || stderr.String() != "" {
				t.Errorf("status %d, %q, want 0 and silence", exitStatus(err), stderr.String())
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestPubInterrupted checks that Ctrl-C ends ferry pub while standard input is idle, and that it prints how many messages it
// published.
func TestPubInterrupted(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	done := n.subscribe(t, n.tcp, "-n1", "open/#")
	var stderr bytes.Buffer
	cmd := ferryProcess(t.Context(), "pub", "-a", n.tcp, "--data-dir", n.dir, "open/a")
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.status != 0 {
		t.Errorf("ferry sub: got %+v", got)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	want := "ferry pub: interrupted\nmessages published before: 1\n"
	if err := cmd.Wait(); exitStatus(err) != statusFailed || stderr.String() != want {
		t.Errorf("status %d, %q, want 1, %q", exitStatus(err), stderr.String(), want)
	}
}
