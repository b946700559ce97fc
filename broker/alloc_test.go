//go:build !race

package broker

import (
	"context"
	"runtime"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/internal/bufpool"
)

// TestRoutingAllocations: a run is routed to its subscriptions without an allocation. If a stream stores its tag, the CREDIT of a run
// takes one or two. The race detector empties pools at random.
func TestRoutingAllocations(t *testing.T) {
	e := memory.New()
	cfg := engine.Config{Name: "events", Tags: []string{"events/#"}, InMemory: true, MaxBytes: 1 << 20}
	stream, err := e.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	for _, row := range []struct {
		name, where string
		stored      []Stored
		most        float64 // for a batch, of five runs
	}{
		{"plain", "", nil, 0},
		{"where", "readings.0.value > 30", nil, 0},
		{"stored", "", []Stored{{Stream: stream, Config: cfg, AtLeastOnce: true}}, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t, 100, row.where, ValidateFull, row.stored...)
			route := func() {
				if err := r.routeBatch(); err != nil {
					t.Fatal(err)
				}
				for stream.Pending() > 0 {
					runtime.Gosched()
				}
			}
			for range 20 { // the stream is full
				route()
			}
			if n := testing.AllocsPerRun(20, route); n > row.most && bufpool.Reuse {
				t.Errorf("%v allocations for a batch of %d messages, want %v", n, r.frames, row.most)
			}
		})
	}
}
