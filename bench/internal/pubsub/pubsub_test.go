package pubsub

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/numbered"
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

func TestCollectors(t *testing.T) {
	cs, err := newCollectors(2, 100)
	if err != nil {
		t.Fatal(err)
	}
	m, err := numbered.New(100, 0)
	if err != nil {
		t.Fatal(err)
	}
	send := func(seq uint64) {
		var both sync.WaitGroup
		m.Set(seq, time.Now().UnixNano())
		for tag := range cs.tags {
			both.Go(func() { cs.tags[tag].take(m.Bytes) })
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
