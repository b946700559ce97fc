package interop

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"example.com/ferry/internal/needs"
)

// grpcProgram is a program that is a server or a client of gRPC.
type grpcProgram struct {
	name    string
	args    []string // program and arguments before its own
	port    bool     // the server takes a port instead of an address
	serving []string // further arguments of the server
}

// grpcPrograms builds the program of bench/cmd/grpcpeer, whose module links grpc-go, and finds the one in Python.
func grpcPrograms(t *testing.T) []grpcProgram {
	t.Helper()
	peer := filepath.Join(t.TempDir(), "grpcpeer")
	c := exec.Command("go", "build", "-o", peer, "./cmd/grpcpeer")
	c.Dir = "../../bench"
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	python, err := filepath.Abs("../../bin/python/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		needs.Missing(t, "gRPC for Python in bin/python", "make deps")
	}
	return []grpcProgram{
		{name: "go", args: []string{peer}, serving: []string{"serve"}},
		{name: "python", args: []string{python, filepath.Join("testdata", "grpc_peer.py")}, port: true},
	}
}

// serve starts the server and returns its address.
func (p grpcProgram) serve(t *testing.T) (address string) {
	t.Helper()
	onFreePort(t, func() (*exec.Cmd, string) {
		address = freePort(t)
		at := address
		if p.port {
			_, at, _ = net.SplitHostPort(address)
		}
		args := []string{"-c", `"$@" & n=$!; trap 'kill $n' TERM; wait $n; wait $n; exit 0`, "sh"}
		// grpc-go ends by the signal, which is no success of the process. The shell's status is.
		return exec.Command("sh", slices.Concat(args, p.args, p.serving, []string{at})...), "ready"
	}, func(*exec.Cmd) {})
	return address
}

// TestGRPC: clients of grpc-go and of gRPC for Python call servers of both, in cleartext and over TLS: unary calls of up to 5 MiB,
// every status, a stream in both directions, a deadline that passes, and calls in parallel.
func TestGRPC(t *testing.T) {
	programs := grpcPrograms(t)
	var origins []origin
	for _, p := range programs {
		origins = append(origins, origin{name: p.name, address: p.serve(t), protocol: "http2"})
	}
	a := newAuthority(t)
	g := a.gateway(t, "http", origins)
	t.Run("all", func(t *testing.T) {
		for _, client := range programs {
			for server := range g.number {
				for transport, ca := range map[string][]string{"cleartext": nil, "TLS": {a.file}} {
					t.Run(fmt.Sprintf("%s over %s to %s", client.name, transport, server), func(t *testing.T) {
						t.Parallel()
						args := slices.Concat(client.args, []string{"call", g.address(server, ca != nil)}, ca)
						if got := output(t, "", args[0], args[1:]...); got != "passed 72\n" {
							t.Errorf("got %q", got)
						}
					})
				}
			}
		}
	})
	g.waitIdle()
}
