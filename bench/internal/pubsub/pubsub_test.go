package pubsub

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

func TestSystems(t *testing.T) {
	dir := t.TempDir()
	if err := ferrynode.Build(dir); err != nil {
		t.Fatal(err)
	}
	for _, s := range []System{FerryQUIC, FerryTCP, RelayQUIC, RelayTCP, NATS} {
		t.Run(string(s), func(t *testing.T) {
			c, err := Start(Setup{System: s, Dir: dir, Size: 1 << 10, Tags: 3})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			f, err := c.Closed(3000) // more than natsWindow holds
			if err != nil {
				t.Fatal(err)
			}
			if f.Rate <= 0 {
				t.Errorf("closed: got %v messages a second", f.Rate)
			}
			o, err := c.Open(50, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			if len(o.Tags) != 3 || o.All.P50 <= 0 || o.All.P50 > o.All.P99 || o.All.P99 > o.All.P999 || o.All.P999 > o.All.Max || o.Connects != 1 {
				t.Errorf("open: got %+v", o)
			}
		})
	}
}

// The error of Start has the output of an end that failed.
func TestStartExplains(t *testing.T) {
	_, err := Start(Setup{System: RelayTCP, Dir: t.TempDir(), Size: 10})
	if err == nil || !strings.Contains(err.Error(), "no event has 10 bytes") {
		t.Errorf("got %v, want the function's own words", err)
	}
	_, err = Start(Setup{System: FerryTCP, Dir: t.TempDir(), Size: 100})
	if err == nil || !strings.Contains(err.Error(), "ferry run") {
		t.Errorf("without a binary: got %v, want an error that names it", err)
	}
}

func TestMessage(t *testing.T) {
	for _, size := range []int{100, 1 << 10, 64 << 10} {
		m, err := newMessage(size)
		if err != nil {
			t.Fatal(err)
		}
		m.set(7, 42)
		if len(m.bytes) != size {
			t.Errorf("got %d bytes, want %d", len(m.bytes), size)
		}
		if err := (cbor.Format{}).Validate(m.bytes, format.Options{}); err != nil {
			t.Errorf("%d bytes: not a CBOR event: %v", size, err)
		}
		good := bytes.Clone(m.bytes)
		if sent, err := m.read(good, 7); sent != 42 || err != nil {
			t.Errorf("%d bytes: got time %d, %v, want 42", size, sent, err)
		}
		for what, bad := range map[string][]byte{
			"message 7 came where 8 was due": good,
			"other bytes":                    append(bytes.Clone(good[:size-1]), 0),
			"want ":                          good[:size-1],
		} {
			seq := uint64(7)
			if strings.HasSuffix(what, "due") {
				seq = 8
			}
			if _, err := m.read(bad, seq); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%d bytes: got %v, want an error with %q", size, err, what)
			}
		}
	}
}

func TestCollectors(t *testing.T) {
	cs, err := newCollectors(2, 100)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMessage(100)
	if err != nil {
		t.Fatal(err)
	}
	send := func(seq uint64) {
		var both sync.WaitGroup
		m.set(seq, time.Now().UnixNano())
		for tag := range cs.tags {
			both.Go(func() { cs.tags[tag].take(m.bytes) })
		}
		both.Wait()
	}
	cs.expect(3, true)
	for seq := range uint64(3) {
		send(seq)
	}
	if _, err := cs.wait(time.Minute); err != nil {
		t.Fatal(err)
	}
	if tags, all := cs.latencies(); len(tags) != 2 || all.Max <= 0 {
		t.Errorf("got %v, %v", tags, all)
	}
	cs.expect(1, true)
	send(5)
	if _, err := cs.wait(time.Minute); err == nil || !strings.Contains(err.Error(), "message 5 came where 3 was due") {
		t.Errorf("got %v, want an error that names the message", err)
	}
	cs.expect(1, false)
	if _, err := cs.wait(time.Millisecond); err == nil || !strings.Contains(err.Error(), "not all messages arrived") {
		t.Errorf("got %v, want an error about lost messages", err)
	}
}

func TestLatency(t *testing.T) {
	var samples []time.Duration
	for i := range 1000 {
		samples = append(samples, time.Duration(1000-i)*time.Microsecond)
	}
	if got, want := latency(samples), (Latency{500, 990, 999, 1000}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := latency(nil); got != (Latency{}) {
		t.Errorf("of nothing: got %v", got)
	}
}
