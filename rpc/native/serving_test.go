package native_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/call/calltest"
	"example.com/ferry/rpc/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
)

// throughNode is a Protocol whose servers are clients of a node of their own: calls cross the node.
type throughNode struct{ native.Protocol }

// nodeListener is a node with one client that serves.
type nodeListener struct {
	broker *broker.Broker
	inner  transport.Listener
	client *stream.Client
	stop   context.CancelFunc
	tasks  sync.WaitGroup
	once   sync.Once
}

func (p throughNode) Listen(ctx context.Context, t transport.Transport, addr string, s call.Service) (call.Listener, error) {
	node, err := broker.New(broker.Config{Identify: broker.Anyone, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	inner, err := t.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	l := &nodeListener{broker: node, inner: inner}
	l.tasks.Go(func() { _ = node.Serve(context.Background(), inner, broker.ValidateFull) })
	l.client, err = stream.Dial(ctx, t, inner.Addr().String(), &stream.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	serving, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.tasks.Go(func() { _ = p.Serve(serving, l.client, []string{"calltest.Test"}, s) })
	for late := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if list := node.Services(); len(list) == 2 && list[1].Instances == 1 {
			return l, nil
		}
		if time.Now().After(late) {
			return nil, errors.Join(errors.New("the service was not offered"), l.Close())
		}
	}
}

func (l *nodeListener) Addr() net.Addr { return l.inner.Addr() }

// Drain stops the node.
func (l *nodeListener) Drain(ctx context.Context) (err error) {
	_ = l.inner.Close()
	err = l.broker.Shutdown(ctx)
	l.once.Do(func() {
		if l.stop != nil {
			l.stop()
			_ = l.client.Close()
		}
		l.tasks.Wait()
	})
	return err
}

func (l *nodeListener) Close() error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.Drain(ended)
	return nil
}

// TestThroughANode runs the contract of a protocol for calls that cross a node: the server has no address of its own.
func TestThroughANode(t *testing.T) {
	server, client, _ := identity(t)
	for _, s := range []calltest.Subject{
		{Transport: tcp.New(nil)},
		{Transport: quic.New(&quic.Config{ServerTLS: server, ClientTLS: client})},
	} {
		t.Run(s.Transport.Scheme(), func(t *testing.T) {
			s.Protocol = throughNode{}
			calltest.Run(t, s)
		})
	}
}
