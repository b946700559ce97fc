//go:build unix

package python

import (
	"bufio"
	"context"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
	"example.com/ferry/protocol/native/conformance"
)

// TestConformance proves the Python client: it runs all cases for clients.
func TestConformance(t *testing.T) {
	t.Parallel()
	path := startDrivers(t)
	results := conformance.Client(t.Context(), conformance.ClientConfig{
		Options: conformance.Options{Timeout: time.Minute}, // of a busy machine
		Start: func(ctx context.Context) (conformance.Driver, error) {
			c, err := new(net.Dialer).DialContext(ctx, "unix", path)
			if err != nil {
				return nil, err
			}
			return &driver{UnixConn: c.(*net.UnixConn)}, nil
		},
		Listen: func(context.Context) (conformance.Listener, error) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			return listener{l}, err
		},
	})
	if len(results) != len(conformance.ClientCases()) {
		t.Errorf("%d of %d cases ran", len(results), len(conformance.ClientCases()))
	}
	for _, r := range results {
		if r.Verdict != conformance.Pass {
			t.Error(r)
		}
	}
}

// startDrivers starts the program that forks a driver for each connection to the Unix socket of the path that it returns.
func startDrivers(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	cmd := exec.Command(needs.Program(t, "python3"), "tests/conformance.py", "--listen", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with the drivers
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "listening\n" {
		t.Fatalf("the drivers printed %q: %v", line, err)
	}
	return path
}

type listener struct{ net.Listener }

func (l listener) Accept() (io.ReadWriteCloser, error) { return l.Listener.Accept() }
func (l listener) Addr() string                        { return "tcp://" + l.Listener.Addr().String() }

// driver is a connection to a forked driver.
type driver struct{ *net.UnixConn }

func (d *driver) Wait() error { return d.Close() }
func (d *driver) Kill()       { _ = d.Close() }
func (d *driver) Log() string { return "" } // the test's output has it
