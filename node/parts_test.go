package node

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/ferry/node/config"
	"example.com/ferry/transport"
)

// stuckTransport has listeners whose Accept does not return, whatever ends.
type stuckTransport struct {
	transport.Transport
	end <-chan struct{}
}

func (s stuckTransport) Listen(ctx context.Context, addr string) (transport.Listener, error) {
	l, err := s.Transport.Listen(ctx, addr)
	return stuckListener{l, s.end}, err
}

type stuckListener struct {
	transport.Listener
	end <-chan struct{}
}

func (s stuckListener) Accept(context.Context) (transport.Conn, error) {
	<-s.end
	return nil, net.ErrClosed
}

// TestListenerHangs: a listener that does not end holds its node no longer than drain.timeout. The error and the log name it.
func TestListenerHangs(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	defer close(end)
	log := make(lines, 1000)
	x := extensions()
	x.Log = slog.New(slog.NewTextHandler(log, nil))
	x.Transports = Transports()
	for i, each := range x.Transports {
		if each.Scheme == "tcp" {
			x.Transports[i].New = func(s Security) transport.Transport { return stuckTransport{each.New(s), end} }
		}
	}
	cfg := quiet(t)
	cfg.Drain.Timeout = phaseGrace
	n, err := Build(cfg, x)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	<-n.Ready()
	cancel()
	const name = "listener tcp://127.0.0.1:0"
	if err := <-ended; err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("got %v, want an error that names the %s", err, name)
	}
	for line := ""; !strings.Contains(line, `part="`+name); line = <-log {
		if strings.Contains(line, "node stopped") {
			t.Fatalf("the log does not name the %s", name)
		}
	}
}

// TestStopHangs: stop returns when the part has stopped, or some time after the end of its context.
func TestStopHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{log: slog.New(slog.DiscardHandler)}
		n.cfg.Store(config.Default())
		failed := errors.New("failed")
		if err := n.stop(canceled, "part", func() error { return failed }); !errors.Is(err, failed) {
			t.Errorf("got %v, want %v", err, failed)
		}
		end := make(chan struct{})
		if err := n.stop(canceled, "part", func() error { <-end; return nil }); err == nil || !strings.Contains(err.Error(), "part") {
			t.Errorf("got %v, want an error that names the part", err)
		}
		s := &serving{}
		s.parts.start("one", func() {})
		if err := n.awaitParts(s); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"one", "two", "two", "three"} {
			s.parts.start(name, func() {
				if name != "three" {
					<-end
				}
			})
		}
		if err := n.awaitParts(s); err == nil || !strings.HasSuffix(err.Error(), ": one, two") {
			t.Errorf("got %v, want an error that names one and two", err)
		}
		close(end)
	})
}
