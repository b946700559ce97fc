package pubsub

import (
	"math"
	"os"
	"slices"
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
	if tags, all, some := cs.latencies(); len(tags) != 2 || all.Max <= 0 || len(some) != 6 {
		t.Errorf("got %v, %v, %v", tags, all, some)
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

// TestSketch: the quantiles of the sketches of two runs are those of all their samples.
func TestSketch(t *testing.T) {
	var runs [2][]time.Duration
	for i := range 100_000 {
		runs[i%2] = append(runs[i%2], time.Duration(i+1)*time.Microsecond)
	}
	both := slices.Concat(sketch(runs[0]), sketch(runs[1]))
	if len(both) != 2*sketchSize {
		t.Fatalf("got %d samples, want %d", len(both), 2*sketchSize)
	}
	slices.Sort(both)
	if got := Quantiles(both); math.Abs(got.P50-50_000) > 100 || math.Abs(got.P99-99_000) > 100 {
		t.Errorf("got %+v, want 50,000 and 99,000 us, within 0.1 %% of the largest", got)
	}
	if got := sketch([]time.Duration{1, 2, 3}); !slices.Equal(got, []time.Duration{1, 2, 3}) {
		t.Errorf("of three: got %v", got)
	}
}
