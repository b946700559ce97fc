package forward_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/link/forward"
	"example.com/ferry/stream"
)

// large returns the payload of message i, of 1000 bytes.
func large(i int) string { return fmt.Sprintf("%d %s", i, strings.Repeat(".", 1000)) }

// sendLarge publishes messages from from to to on a tag, and returns what a recorder gets for them.
func sendLarge(t *testing.T, c *stream.Client, tag string, from, to int) (sent []string) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := c.Send(t.Context(), ferry.Message{Tag: tag, Payload: []byte(large(i))}); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, tag+" "+large(i))
	}
	return sent
}

// only returns the messages of a tag.
func only(all []string, tag string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(m string) bool { return !strings.HasPrefix(m, tag+" ") })
}

// away renames a file or a directory, as if the disk did not open it. back undoes this.
func away(t *testing.T, path string) (back func()) {
	t.Helper()
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
}

// slow is a stream whose appends end when gate is closed.
type slow struct {
	engine.Stream
	gate chan struct{}
}

func (s slow) Append(records []engine.Record, done func(error)) {
	s.Stream.Append(records, func(err error) {
		go func() {
			<-s.gate
			done(err)
		}()
	})
}

// slowNode starts a node that stores all tags, and confirms it when open is called.
func (n *network) slowNode(id string) (made *node, open func()) {
	n.t.Helper()
	e := memory.New()
	n.t.Cleanup(func() { _ = e.Close(context.Background()) })
	cfg := engine.Config{Name: "all", Tags: []string{"#"}, InMemory: true}
	s, err := e.Open(n.t.Context(), cfg)
	if err != nil {
		n.t.Fatal(err)
	}
	gate := make(chan struct{})
	open = sync.OnceFunc(func() { close(gate) })
	made = n.node(id, func(c *broker.Config) {
		c.Stored = []broker.Stored{{Stream: slow{s, gate}, Config: cfg, AtLeastOnce: true}}
	})
	n.t.Cleanup(open)
	return made, open
}

// TestUnreadableSpool: messages are on disk, and the other node returns while a file of the spool cannot be opened. The messages of their tag
// wait and arrive in order when it can. Those of other tags do not wait. Nothing is lost, even if the link writes to the spool meanwhile.
func TestUnreadableSpool(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", nil)
	dir := t.TempDir()
	link := a.link("b", func(cfg *forward.Config) {
		cfg.Spool.MaxBytes, cfg.Spool.Dir, cfg.SafeWithin = 2<<20, dir, 20*time.Millisecond
	})
	c := a.client()
	var sent []string
	for i := range 25 {
		sent = append(sent, sendLarge(t, c, "old", 20*i, 20*i+20)...)
		flush(t, c) // they are confirmed
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	back := away(t, files[0])
	b, confirm := net.slowNode("b")
	got := b.record()
	eventually(t, "the link says that it cannot read", func() bool { s := link.Stats(); return s.Connected && s.SpoolErr != nil })
	sent = append(sent, sendLarge(t, c, "old", 500, 505)...)
	other := sendLarge(t, c, "new", 0, 5)
	flush(t, c)
	eventually(t, "messages of another tag arrive", func() bool { return slices.Equal(only(got.list(), "new"), other) })
	if all := got.list(); len(only(all, "old")) > 0 {
		t.Errorf("%.20q arrives before the messages that are on disk", only(all, "old")[0])
	}
	back()
	confirm()
	other = append(other, sendLarge(t, c, "new", 5, 10)...)
	all := got.await(len(sent) + len(other))
	if !slices.Equal(only(all, "old"), sent) {
		t.Errorf("%d of %d messages of the tag that was on disk have arrived, or in another order", len(only(all, "old")), len(sent))
	}
	flush(t, c)
	eventually(t, "all are confirmed", func() bool {
		s := link.Stats()
		return s.Spool.Messages == 0 && s.Confirmed == uint64(len(sent)+len(other)) && s.SpoolErr == nil
	})
	if s := link.Stats(); len(s.Dropped) > 0 || s.Spool.Lost > 0 || s.Connects != 1 || len(got.list()) != len(all) {
		t.Errorf("%d messages have arrived: %+v", len(got.list()), s)
	}
}

// TestFullSpoolTells: while the other node is away, messages that find no room on disk are refused, and their publisher is told: what Flush
// confirms is not dropped.
func TestFullSpoolTells(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", nil)
	link := a.link("b", func(cfg *forward.Config) { cfg.Spool.MaxBytes, cfg.SafeWithin = 64<<10, 20*time.Millisecond })
	c := a.client()
	const n = 500
	sendLarge(t, c, "x", 0, n)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told := 0
	if err := c.Flush(ctx); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			var k int
			if _, e := fmt.Sscanf(line, "stream: %d messages on tag x were dropped", &k); e != nil {
				t.Fatalf("%q: %v", line, e)
			}
			told += k
		}
	}
	s := link.Stats()
	if dropped := s.Dropped["full"]; dropped == 0 || uint64(told) != dropped || s.Spooled+dropped != n || s.Waiting > 0 {
		t.Errorf("the publisher knows of %d dropped messages: %+v", told, s)
	}
	if err := c.Flush(ctx); err != nil {
		t.Errorf("Flush without messages: %v", err)
	}
	net.node("b", nil).record()
	eventually(t, "what was confirmed arrives", func() bool { return link.Stats().Confirmed == s.Spooled })
}

// TestUnwritableSpoolBlocks: with BlockWhenFull, publishers wait while the spool takes nothing, whatever the error is.
func TestUnwritableSpoolBlocks(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", nil)
	dir := filepath.Join(t.TempDir(), "spool")
	link := a.link("b", func(cfg *forward.Config) {
		cfg.BlockWhenFull, cfg.Spool.Dir, cfg.SafeWithin = true, dir, 20*time.Millisecond
	})
	back := away(t, dir)
	c := a.client()
	sent := sendLarge(t, c, "x", 0, 500)
	flushed := make(chan error, 1)
	go func() { flushed <- c.Flush(context.WithoutCancel(t.Context())) }()
	eventually(t, "the spool has failed", func() bool { return link.Stats().SpoolErr != nil })
	select {
	case err := <-flushed:
		t.Fatalf("Flush: %v, and %d messages are on disk", err, link.Stats().Spooled)
	default:
	}
	back()
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	if s := link.Stats(); len(s.Dropped) > 0 || s.Spooled != 500 || s.SpoolErr != nil {
		t.Errorf("got %+v", s)
	}
	b := net.node("elsewhere", nil)
	got := b.record() // before the link finds b
	b.open("b")
	got.expect(sent...)
}

// TestUnwritableSpoolWhileConnected: a spool that takes nothing does not stop a link that is connected, though the other node is slow to
// confirm and a publisher waits.
func TestUnwritableSpoolWhileConnected(t *testing.T) {
	for _, block := range []bool{false, true} {
		t.Run(fmt.Sprint("block ", block), func(t *testing.T) {
			net := newNetwork(t)
			a := net.node("a", nil)
			b, confirm := net.slowNode("b")
			got := b.record()
			dir := filepath.Join(t.TempDir(), "spool")
			link := a.link("b", func(cfg *forward.Config) {
				cfg.Spool.Dir, cfg.BlockWhenFull, cfg.SafeWithin = dir, block, 20*time.Millisecond
			})
			eventually(t, "the link is up", func() bool { return !link.Stats().Spooling })
			defer away(t, dir)()
			c := a.client()
			sent := sendLarge(t, c, "x", 0, 100)
			flushed := make(chan error, 1)
			go func() { flushed <- c.Flush(context.WithoutCancel(t.Context())) }()
			eventually(t, "the spool has failed", func() bool { return link.Stats().SpoolErr != nil })
			sent = append(sent, sendLarge(t, a.client(), "y", 0, 100)...)
			got.await(200)
			confirm()
			if err := <-flushed; err != nil {
				t.Fatal(err)
			}
			eventually(t, "all are confirmed", func() bool { return link.Stats().Confirmed == 200 })
			if all := got.list(); !slices.Equal(only(all, "x"), only(sent, "x")) || !slices.Equal(only(all, "y"), only(sent, "y")) {
				t.Errorf("%d messages have arrived", len(all))
			}
			if s := link.Stats(); len(s.Dropped) > 0 || s.Connects != 1 {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// TestFullSpoolRepeatsNothing: the spool takes only a part of what is on its way when the other node is slow to confirm. On the connection,
// which is not interrupted, nothing is sent twice.
func TestFullSpoolRepeatsNothing(t *testing.T) {
	for _, block := range []bool{false, true} {
		t.Run(fmt.Sprint("block ", block), func(t *testing.T) {
			net := newNetwork(t)
			a := net.node("a", nil)
			b, confirm := net.slowNode("b")
			got := b.record()
			link := a.link("b", func(cfg *forward.Config) {
				cfg.Spool.MaxBytes, cfg.BlockWhenFull, cfg.SafeWithin = 64<<10, block, 20*time.Millisecond
			})
			eventually(t, "the link is up", func() bool { return !link.Stats().Spooling })
			c := a.client()
			sent := sendLarge(t, c, "x", 0, 150)
			flushed := make(chan error, 1)
			go func() { flushed <- c.Flush(context.WithoutCancel(t.Context())) }()
			eventually(t, "the spool is full", func() bool { s := link.Stats(); return s.SpoolErr != nil && s.Spooled > 0 })
			sent = append(sent, sendLarge(t, c, "x", 150, 250)...)
			confirm()
			if err := <-flushed; err != nil {
				t.Fatal(err)
			}
			sent = append(sent, sendLarge(t, c, "x", 250, 300)...)
			flush(t, c)
			eventually(t, "all are confirmed", func() bool { s := link.Stats(); return s.Confirmed == 300 && s.Spool.Messages == 0 })
			got.expect(sent...)
			if s := link.Stats(); len(s.Dropped) > 0 || s.Connects != 1 || len(got.list()) != 300 {
				t.Errorf("%d messages have arrived: %+v", len(got.list()), s)
			}
		})
	}
}

// TestDamagedSpool: only damage of the disk loses messages of the spool. They are counted, and those behind them arrive.
func TestDamagedSpool(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", nil)
	dir := t.TempDir()
	configure := func(cfg *forward.Config) { cfg.Spool.Dir, cfg.Spool.MaxBytes = dir, 512<<10 }
	link := a.link("b", configure)
	c := a.client()
	for i := range 10 {
		sendLarge(t, c, "x", 10*i, 10*i+10)
		flush(t, c)
	}
	closeLink(link)
	a.links = nil
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(files[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	link = a.link("b", configure)
	got := net.node("b", nil).record()
	last := sendLarge(t, c, "x", 100, 101)
	flush(t, c)
	eventually(t, "the last message arrives", func() bool { l := got.list(); return len(l) > 0 && l[len(l)-1] == last[0] })
	eventually(t, "all are confirmed", func() bool { return link.Stats().Spool.Messages == 0 })
	if s := link.Stats(); s.Spool.Lost == 0 || len(s.Dropped) > 0 {
		t.Errorf("got %+v", s)
	}
}
