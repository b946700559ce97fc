package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
	"example.com/ferry/internal/pki"
)

// patience bounds each wait of a test on a busy machine.
const patience = 2 * time.Minute

// cases are the cases of doc/interop-test-descriptions.md of gRPC that need no credentials, no compression and no ORCA.
var cases = []string{
	"empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong", "empty_stream", "timeout_on_sleeping_server",
	"cancel_after_begin", "cancel_after_first_response", "status_code_and_message", "special_status_message", "custom_metadata",
	"unimplemented_method", "unimplemented_service",
}

// programs builds the programs once, into a directory that TestMain removes.
var programs = sync.OnceValues(func() (dir string, err error) {
	dir = built
	for name, pkg := range map[string]string{
		"ferry": "./cmd/grpcinterop", "peer": "./cmd/grpcpeer", "client": "google.golang.org/grpc/interop/client", "server": "google.golang.org/grpc/interop/server",
	} {
		c := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg)
		c.Dir = "../../../bench"
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
	}
	return dir, nil
})

var built string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if built, err = os.MkdirTemp("", "grpc-interop"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(built)
		return m.Run()
	}())
}

// program returns the path of a program.
func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// identity makes a CA and a server's certificate for loopback.
func identity(t *testing.T) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	if _, err := pki.Open(pki.Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, pki.CAFile), filepath.Join(dir, pki.ServerFile), filepath.Join(dir, pki.ServerKeyFile)
}

// start starts a program that is stopped by a signal at the end of the test.
func start(t *testing.T, c *exec.Cmd) {
	t.Helper()
	c.Stderr = new(bytes.Buffer)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		defer kill.Stop()
		err := c.Wait()
		if t.Failed() {
			t.Logf("%s: %v\n%s", c.Path, err, c.Stderr)
		}
	})
}

// output runs a program and returns what it prints.
func output(t *testing.T, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(path), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// serveFerry starts ferry's server and returns its address.
func serveFerry(t *testing.T, args ...string) (host, port string) {
	t.Helper()
	c := exec.Command(program(t, "ferry"), append([]string{"serve", "127.0.0.1:0"}, args...)...)
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, c)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if host, port, err = net.SplitHostPort(strings.TrimSpace(strings.TrimPrefix(line, "ready "))); err != nil {
		t.Fatalf("the server says %q: %v", line, err)
	}
	return host, port
}

// TestEcho: clients of grpc-go and of gRPC for Python, which is gRPC's C library, call ferry's server, and ferry's client calls servers of
// both: messages of up to 5 MiB, compressed too, every status, streams, a deadline that passes, and calls in parallel.
func TestEcho(t *testing.T) {
	t.Parallel()
	python, err := filepath.Abs("../../../bin/python/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	script := "../../../proxy/interop/testdata/grpc_peer.py"
	host, port := serveFerry(t)
	addr := net.JoinHostPort(host, port)
	t.Run("calls of grpc-go", func(t *testing.T) {
		t.Parallel()
		if got := output(t, program(t, "peer"), "call", addr); got != "passed 72\n" {
			t.Errorf("got %q", got)
		}
		if got := output(t, program(t, "peer"), "gzip", addr); got != "passed\n" {
			t.Errorf("compressed: got %q", got)
		}
	})
	t.Run("a server of grpc-go", func(t *testing.T) {
		t.Parallel()
		at := startOnFreePort(t, func(port string) *exec.Cmd { return exec.Command(program(t, "peer"), "serve", "127.0.0.1:"+port) })
		if got := output(t, program(t, "ferry"), "echo", at); got != "passed\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("Python", func(t *testing.T) {
		t.Parallel()
		if _, err := os.Stat(python); err != nil {
			needs.Missing(t, "gRPC for Python in bin/python", "make deps")
		}
		if got := output(t, python, script, "call", addr); got != "passed 72\n" {
			t.Errorf("calls of Python: got %q", got)
		}
		at := startOnFreePort(t, func(port string) *exec.Cmd { return exec.Command(python, script, port) })
		if got := output(t, program(t, "ferry"), "echo", at); got != "passed\n" {
			t.Errorf("a server in Python: got %q", got)
		}
	})
}

// TestDescribe: a client of grpc-go that knows no .proto file lists ferry's services, learns what a method is, and calls it.
func TestDescribe(t *testing.T) {
	t.Parallel()
	host, port := serveFerry(t)
	for _, row := range []struct{ service, method, json, want string }{
		{"greeter.Greeter", "Hello", `"Bo"`, "method greeter.Greeter.Hello google.protobuf.StringValue google.protobuf.StringValue\nresponse \"Hello, Bo\"\n"},
		{"grpc.health.v1.Health", "Check", `{"service":"greeter.Greeter"}`, "method grpc.health.v1.Health.Check grpc.health.v1.HealthCheckRequest grpc.health.v1.HealthCheckResponse\nresponse {\"status\":\"SERVING\"}\n"},
	} {
		got := output(t, program(t, "peer"), "describe", net.JoinHostPort(host, port), row.service, row.method, row.json)
		if want := "services greeter.Greeter grpc.health.v1.Health\n" + row.want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestClientOfGo: the client of grpc-go calls ferry's server.
func TestClientOfGo(t *testing.T) {
	t.Parallel()
	client := program(t, "client")
	for _, secure := range []bool{false, true} {
		var args, more []string
		if secure {
			ca, cert, key := identity(t)
			args, more = []string{cert, key}, []string{"-use_tls", "-use_test_ca", "-ca_file", ca, "-server_host_override", "localhost"}
		}
		host, port := serveFerry(t, args...)
		for _, name := range cases {
			t.Run(fmt.Sprintf("%s, TLS %v", name, secure), func(t *testing.T) {
				output(t, client, append(more, "-server_host", host, "-server_port", port, "-test_case", name)...)
			})
		}
	}
}

// TestServerOfGo: ferry's client calls the server of grpc-go.
func TestServerOfGo(t *testing.T) {
	t.Parallel()
	client, server := program(t, "ferry"), program(t, "server")
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", secure), func(t *testing.T) {
			var args, more []string
			if secure {
				ca, cert, key := identity(t)
				args, more = []string{"-use_tls", "-tls_cert_file", cert, "-tls_key_file", key}, []string{ca}
			}
			addr := startOnFreePort(t, func(port string) *exec.Cmd { return exec.Command(server, append(args, "-port", port)...) })
			want := fmt.Sprintln("passed", len(cases))
			if got := output(t, client, append([]string{"call", addr}, more...)...); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// startOnFreePort starts a server of others on a port, and waits until it accepts connections. Another program may take the port first:
// then the server ends, and another port is tried.
func startOnFreePort(t *testing.T, command func(port string) *exec.Cmd) (addr string) {
	t.Helper()
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr = l.Addr().String()
		_ = l.Close()
		_, port, _ := net.SplitHostPort(addr)
		c := command(port)
		ended := make(chan error, 1)
		c.Stderr = new(bytes.Buffer)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- c.Wait() }()
		if awaitListener(t, addr, ended) {
			t.Cleanup(func() {
				_ = c.Process.Signal(syscall.SIGTERM)
				<-ended
			})
			return addr
		}
	}
	t.Fatal("the server does not start")
	return ""
}

// awaitListener waits until a server accepts connections, and returns false if its process has ended before.
func awaitListener(t *testing.T, addr string, ended <-chan error) bool {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case <-ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
		if nc, err := net.Dial("tcp", addr); err == nil {
			_ = nc.Close()
			return true
		}
	}
	t.Fatalf("%s accepts no connection within %v", addr, patience)
	return false
}
