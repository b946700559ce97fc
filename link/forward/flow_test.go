package forward_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/link/forward"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
)

// TestFarBackpressure: a subscriber of the other node that does not read holds back the link, which stores what follows. Subscribers and
// publishers of this node do not notice.
func TestFarBackpressure(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", nil)
	b := net.node("b", func(cfg *broker.Config) { cfg.Window, cfg.Queue = 4<<10, 4<<10 })
	near := a.record()
	release := make(chan struct{})
	var got []string
	done := make(chan struct{})
	const n = 2000
	_, err := b.client().Start(t.Context(), stream.Function{Observe: []string{"#"}, Window: 4 << 10, Concurrency: 1, Handler: stream.Sink(
		func(_ context.Context, in *ferry.Message) error {
			<-release
			if got = append(got, in.Tag+" "+string(in.Payload)); len(got) == n {
				close(done)
			}
			return nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	link := a.link("b", func(cfg *forward.Config) { cfg.Memory, cfg.SafeWithin = 64<<10, 20*time.Millisecond })
	eventually(t, "the link is up", func() bool { return !link.Stats().Spooling })
	sent := publish(t, a.client(), "x", 0, n) // confirmed: the messages are on disk
	near.expect(sent...)
	if s := link.Stats(); s.Spooled == 0 || s.Confirmed == n {
		t.Errorf("got %+v", s)
	}
	close(release)
	<-done
	for i := range sent {
		if got[i] != sent[i] {
			t.Fatalf("message %d is %q, want %q", i, got[i], sent[i])
		}
	}
	eventually(t, "all are confirmed", func() bool { s := link.Stats(); return s.Confirmed == n && s.Spool.Messages == 0 })
}

// TestSpoolFull: messages beyond the bound of the spool are dropped and counted, or hold back their publisher.
func TestSpoolFull(t *testing.T) {
	for _, block := range []bool{false, true} {
		t.Run(fmt.Sprint("block ", block), func(t *testing.T) {
			net := newNetwork(t)
			a := net.node("a", func(cfg *broker.Config) { cfg.Window = 16 << 10 })
			link := a.link("b", func(cfg *forward.Config) {
				cfg.Spool.MaxBytes, cfg.BlockWhenFull, cfg.Memory = 64<<10, block, 32<<10
			})
			c := a.client()
			payload := []byte(strings.Repeat("z", 1000))
			sent := 0
			for range 300 {
				limit := time.Minute // of a publisher that is not held back
				if block {
					limit = 300 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				err := c.Send(ctx, ferry.Message{Tag: "x", Payload: payload})
				cancel()
				if err != nil {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Fatal(err)
					}
					break
				}
				sent++
			}
			if !block {
				if err := c.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "spool: full") {
					t.Errorf("Flush: got %v", err)
				}
				if s := link.Stats(); sent != 300 || s.Dropped["full"] == 0 || s.Dropped["full"]+s.Spooled != 300 || s.SpoolErr == nil {
					t.Errorf("sent %d: %+v", sent, s)
				}
				return
			}
			if sent == 300 {
				t.Fatal("the publisher was not held back")
			}
			eventually(t, "the link is full", link.Full)
			left := false
			link.AwaitRoom(func() { left = true })()
			net.node("b", nil).record()
			eventually(t, "the publisher has credit again", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				return c.Send(ctx, ferry.Message{Tag: "x", Payload: payload}) == nil
			})
			flush(t, c)
			eventually(t, "all are handled", func() bool {
				s := link.Stats()
				return s.Confirmed+s.Refused == uint64(sent)+1 && len(s.Dropped) == 0
			})
			if left {
				t.Error("a publisher that has left was resumed")
			}
		})
	}
}

// TestManyTags: a link publishes on more tags than it, or the other node, has at a time, and no message is lost.
func TestManyTags(t *testing.T) {
	for _, there := range []int{200, 50} {
		t.Run(fmt.Sprint(there, " at the other node"), func(t *testing.T) { manyTags(t, there) })
	}
}

func manyTags(t *testing.T, there int) {
	net := newNetwork(t)
	a := net.node("a", nil)
	b := net.node("b", func(cfg *broker.Config) { cfg.MaxTags = there })
	got := b.record()
	link := a.link("b", func(cfg *forward.Config) { cfg.MaxTags = 64 })
	eventually(t, "the link is up", func() bool { return !link.Stats().Spooling })
	c := a.client()
	want := map[string]bool{}
	for i := range 250 {
		tag := fmt.Sprint("t/", i)
		if err := c.Send(t.Context(), ferry.Message{Tag: tag, Payload: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		want[tag+" x"] = true
	}
	flush(t, c)
	for _, m := range got.await(250) {
		delete(want, m)
	}
	if len(want) > 0 {
		t.Errorf("%d messages are lost", len(want))
	}
	if s := link.Stats(); s.Tags > 64 {
		t.Errorf("the link has %d tags", s.Tags)
	}
}

// TestVersion2Peer: to a node of version 2 the link publishes like any client of that version.
func TestVersion2Peer(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", nil)
	l, err := net.tr.Listen(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	link := a.link("old", nil)
	conn, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	var buf []byte
	read := func() native.Frame {
		t.Helper()
		for {
			if f, err := native.Split(buf, native.DefaultMaxFrame); err != nil {
				t.Fatal(err)
			} else if f != nil {
				buf = buf[len(f):]
				return f
			}
			b := make([]byte, 64<<10)
			n, err := conn.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			buf = append(buf, b[:n]...)
		}
	}
	write := func(b []byte) {
		t.Helper()
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if hello, err := native.ParseHello(read()); err != nil || hello.MaxVersion < 2 || hello.MinVersion > 2 {
		t.Fatalf("got %+v, %v", hello, err)
	}
	write(native.AppendWelcome(nil, native.WelcomeFrame{Version: 2, Source: 9, MaxFrame: 1 << 20, Window: 1 << 20, Heartbeat: 60_000}))
	c := a.client()
	if err := c.Send(t.Context(), ferry.Message{Tag: "x", Type: ferry.JSON, Payload: []byte("7")}); err != nil {
		t.Fatal(err)
	}
	flushed := make(chan error, 1)
	go func() { flushed <- c.Flush(t.Context()) }()
	for done := false; !done; {
		switch f := read(); f.Kind() {
		case native.Tag:
			v, err := native.ParseTag(f)
			if err != nil || v.Name != "x" {
				t.Fatalf("got %+v, %v", v, err)
			}
			write(native.AppendResult(nil, native.ResultFrame{Kind: native.Tag, Ref: v.Ref, Value: 5}))
		case native.Pub:
			if f.Tag() != 5 || f.Source() != 9 || f.Flags() != 0 || string(f.Payload()) != "7" {
				t.Errorf("got %x", []byte(f))
			}
		case native.Ping:
			v, err := native.ParsePing(f)
			if err != nil {
				t.Fatal(err)
			}
			write(native.AppendPing(nil, true, v))
			done = v != 0
		default:
			t.Fatalf("%v to a node of version 2", f.Kind())
		}
	}
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is confirmed", func() bool { return link.Stats().Confirmed == 1 })
}

// TestClosedLink: what arrives behind Close is counted, and what was stored is in the spool.
func TestClosedLink(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", nil)
	dir := t.TempDir()
	link := a.link("b", func(cfg *forward.Config) { cfg.Spool.Dir = dir })
	c := a.client()
	publish(t, c, "x", 0, 10)
	closeLink(link)
	publish(t, c, "x", 10, 13)
	if n := link.Stats().Dropped["closed"]; n != 3 {
		t.Errorf("%d messages are counted, want 3", n)
	}
	s, err := spool.Open(spool.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := s.Stats().Messages; n == 0 {
		t.Error("the spool has no record")
	}
}
