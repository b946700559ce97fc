package godriver_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"example.com/ferry/internal/godriver"
	"example.com/ferry/protocol/native/conformance"
)

// TestGoClient proves Go's client: it runs all cases for clients.
func TestGoClient(t *testing.T) {
	results := conformance.Client(t.Context(), conformance.ClientConfig{
		Options: conformance.Options{Timeout: time.Minute}, // of a busy machine
		Start:   func(ctx context.Context) (conformance.Driver, error) { return start(ctx, t), nil },
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

type listener struct{ net.Listener }

func (l listener) Accept() (io.ReadWriteCloser, error) { return l.Listener.Accept() }
func (l listener) Addr() string                        { return "tcp://" + l.Listener.Addr().String() }

// program is a driver within this process.
type program struct {
	io.Reader
	io.WriteCloser
	cancel context.CancelFunc
	done   chan error
}

func start(ctx context.Context, t *testing.T) *program {
	in, instructions := io.Pipe()
	reports, out := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	p := &program{reports, instructions, cancel, make(chan error, 1)}
	go func() {
		err := godriver.Run(ctx, in, out, io.Discard)
		_ = in.Close()
		_ = out.Close()
		p.done <- err
	}()
	t.Cleanup(cancel)
	return p
}

func (p *program) CloseWrite() error { return p.Close() }
func (p *program) Wait() error       { return <-p.done }
func (p *program) Kill()             { p.cancel() }
func (p *program) Log() string       { return "" }
