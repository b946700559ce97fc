//go:build linux

package proof

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// functionConfig is the configuration of a process that handles messages.
type functionConfig struct {
	Name     string
	Node     string // address
	Token    string
	Recorder string
	Durable  string
	Observe  string
}

// startFunction starts a function that records what it handles.
func startFunction(t *testing.T, c functionConfig) *process {
	t.Helper()
	p := newRole(t, c.Name, roleFunction, c)
	p.start()
	return p
}

// runFunction runs a function in this process. It connects again when the node was away.
func runFunction(ctx context.Context, c functionConfig) error {
	records, err := dialRecorder(c.Recorder, c.Name)
	if err != nil {
		return err
	}
	client, err := dial(ctx, c.Node, c.Name, c.Token)
	if err != nil {
		return err
	}
	return client.Run(ctx, stream.Function{
		Observe: []string{c.Observe},
		Durable: c.Durable,
		From:    stream.FromFirst(),
		Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
			key, n, err := parseMessage(in)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1) // which fails the test
			}
			fail, err := records.record(verbHandled, key, n)
			if err == nil && fail {
				err = errors.New("the test wants this message again")
			}
			return err
		}),
	})
}

// dial connects to a node, which may not run yet.
func dial(ctx context.Context, addr, name, token string) (*stream.Client, error) {
	for end := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
		c, err := stream.Dial(ctx, tcp.New(nil), addr, &stream.Config{
			Token: []byte(token), Name: name, MaxBackoff: 200 * time.Millisecond, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		if err == nil || time.Now().After(end) {
			return c, err
		}
	}
}
