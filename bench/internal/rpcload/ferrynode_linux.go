package rpcload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/internal/load/echo"
	"example.com/ferry/internal/pki"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// NodeSystems are the rows of calls through a node, with messages of Spec.Size bytes. PrepareNode builds ferry's node.
func NodeSystems() []System {
	return []System{ferryThroughNode(), natsSystem(NATS, natsCore), natsSystem(NATSMicro, natsService)}
}

// PrepareNode builds the shipped binary in dir.
func PrepareNode(dir string) error { return ferrynode.Build(dir) }

// ferryThroughNode is the native protocol over TCP. The server serves over its own connection to the node.
func ferryThroughNode() System {
	return System{
		Name: Ferry, Version: "this commit", Kind: harness.Ferry, Counted: true,
		Node:  startNode,
		Serve: serveThroughNode,
		Dial: func(ctx context.Context, s Spec) (Client, error) {
			token, err := nodeToken(s)
			if err != nil {
				return nil, err
			}
			c, err := dialFerry(ctx, s, echo.RawOf(s.size()), tcp.New(nil), "tcp://"+s.Node, rpc.ClientConfig{Protocol: native.Protocol{Token: token}, Content: rawType})
			if err != nil {
				return nil, err
			}
			return c, untilServed(ctx, c)
		},
	}
}

func serveThroughNode(ctx context.Context, s Spec) (string, error) {
	token, err := nodeToken(s)
	if err != nil {
		return "", err
	}
	client, err := stream.Dial(ctx, tcp.New(nil), s.Node, &stream.Config{Token: token})
	if err != nil {
		return "", err
	}
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
	echo.RawOf(s.size()).Handle(srv)
	go func() {
		if err := rpc.Serve(ctx, client, srv); err != nil {
			fmt.Fprintln(os.Stderr, err) // the client's calls fail
		}
	}()
	return "", nil
}

// nodeDir is the data directory of the node at s.Node.
func nodeDir(s Spec) string {
	return filepath.Join(s.Dir, "node-"+strings.ReplaceAll(s.Node, ":", "-"))
}

func nodeToken(s Spec) ([]byte, error) {
	token, err := pki.ReadToken(filepath.Join(nodeDir(s), pki.TokenFile))
	return []byte(token), err
}

// nodeConfig is the configuration file. All other fields have their defaults.
const nodeConfig = `listeners:
  - address: tcp://%s
admin:
  address: %s
data_dir: %s
`

// startNode starts the shipped binary. The kernel ends it with this process.
func startNode(_ context.Context, s Spec) (string, error) {
	var err error
	if s.Node, err = ferrynode.FreeAddr(); err != nil {
		return "", err
	}
	admin, err := ferrynode.FreeAddr()
	if err != nil {
		return "", err
	}
	dir := nodeDir(s)
	file := dir + ".yaml"
	if err := os.WriteFile(file, fmt.Appendf(nil, nodeConfig, s.Node, admin, dir), 0o600); err != nil {
		return "", err
	}
	runtime.LockOSThread() // of main: Pdeathsig is sent when the thread that has started the process ends
	cmd := exec.Command(filepath.Join(s.Dir, ferrynode.Binary), "run", "-c", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	if err := ferrynode.WaitReady(admin); err != nil {
		return "", errors.Join(err, cmd.Process.Kill())
	}
	return s.Node, nil
}
