package forward_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/link/forward"
	"example.com/ferry/transport"
)

// slowDialer is a Dialer whose Dial waits until release is closed.
type slowDialer struct {
	transport.Transport
	began   chan struct{}
	release chan struct{}
}

func (d *slowDialer) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	select {
	case d.began <- struct{}{}:
	default:
	}
	select {
	case <-d.release:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return d.Transport.Dial(ctx, addr)
}

// TestUpdateWhileDialing: a target that is replaced while the link dials it gets no messages.
func TestUpdateWhileDialing(t *testing.T) {
	net := newNetwork(t)
	a, before, after := net.node("a", nil), net.node("before", nil), net.node("after", nil)
	atBefore, atAfter := before.record(), after.record()
	slow := &slowDialer{net.tr, make(chan struct{}, 1), make(chan struct{})}
	link := a.link("before", func(cfg *forward.Config) { cfg.Target.Dialer = slow })
	<-slow.began
	link.Update(forward.Target{Tags: []string{"#"}, Dialer: net.tr, Addr: "after", Token: []byte("trusted")})
	close(slow.release)
	eventually(t, "the link is up", func() bool { s := link.Stats(); return s.Connected && s.Node == "after" })
	atAfter.expect(publish(t, a.client(), "x", 0, 10)...)
	if got := atBefore.list(); len(got) > 0 {
		t.Errorf("the replaced target has got %q", got)
	}
}

// lines counts the lines of a log.
type lines struct {
	slog.Handler
	count *atomic.Int64
}

func (l lines) Enabled(context.Context, slog.Level) bool { return true }

func (l lines) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l lines) Handle(context.Context, slog.Record) error {
	l.count.Add(1)
	return nil
}

// TestManyRefusedTags: the log says that tags are refused, but not for each of them.
func TestManyRefusedTags(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", nil)
	net.node("b", func(cfg *broker.Config) {
		cfg.Identify = func([]byte, *tls.ConnectionState) (*broker.Identity, error) {
			return &broker.Identity{Name: "link", Publish: []string{"open"}, Forward: true}, nil
		}
	})
	var count atomic.Int64
	link := a.link("b", func(cfg *forward.Config) {
		cfg.Log = slog.New(lines{slog.DiscardHandler, &count})
	})
	eventually(t, "the link is up", func() bool { return !link.Stats().Spooling })
	c := a.client()
	const tags = 200
	for i := range tags {
		if err := c.Send(t.Context(), ferry.Message{Tag: fmt.Sprint("closed/", i)}); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, c)
	eventually(t, "all are refused", func() bool { return link.Stats().Refused == tags })
	if n := count.Load(); n == 0 || n > tags/4 {
		t.Errorf("the log has %d lines about %d tags", n, tags)
	}
}
