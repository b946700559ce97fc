//go:build unix

package cli

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// TestRunInterruptedTwice stops a publisher, which keeps the node draining because more messages may follow. The second Ctrl-C
// ends the node at once.
func TestRunInterruptedTwice(t *testing.T) {
	t.Parallel()
	n := runNode(t, nodeYAML)
	address := regexp.MustCompile(`tcp://\S+`).FindString(n.welcome)
	sub := ferryProcess(t.Context(), "sub", "-a", address, "test/#")
	sub.Dir = n.dir
	lines, err := sub.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	pub := ferryProcess(t.Context(), "pub", "-a", address, "-t", "json", "test/a")
	pub.Dir = n.dir
	input, err := pub.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{sub, pub} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	// ferry sub does not report when it has subscribed: publish until it prints a message.
	got := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(lines).ReadString('\n')
		got <- err
	}()
	for waiting := true; waiting; {
		if _, err := input.Write([]byte("{}\n")); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-got:
			if err != nil {
				t.Fatal(err)
			}
			waiting = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := pub.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_ = n.Process.Signal(os.Interrupt)
	n.await(t, "draining; Ctrl-C again")
	_ = n.Process.Signal(os.Interrupt)
	if err := n.Wait(); exitStatus(err) != statusKilled {
		t.Errorf("got %v, want status %d", err, statusKilled)
	}
	for _, cmd := range []*exec.Cmd{sub, pub} {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
