//go:build linux

package proof

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/stream"
)

const atMostOnce = "[{name: orders, tags: orders/#, storage: memory, retention: {size: 64MiB}}]"

// TestSlowConsumer publishes much more than the node may hold, to a function that handles nothing. The memory of the node stays
// bounded, and the publisher is not held up.
func TestSlowConsumer(t *testing.T) {
	for _, row := range []struct{ name, streams string }{{"at-most-once", atMostOnce}, {"at-least-once", atLeastOnce}} {
		t.Run(row.name, func(t *testing.T) {
			eachEngine(t, row.streams, func(t *testing.T, n *runningNode) {
				release := make(chan struct{})
				f := stream.Function{
					Observe: []string{"orders/#"},
					Durable: "workers",
					From:    stream.FromFirst(),
					Handler: stream.Sink(func(ctx context.Context, _ *ferry.Message) error {
						select {
						case <-release:
						case <-ctx.Done():
						}
						return nil
					}),
				}
				if row.streams == atMostOnce {
					f.Durable = ""
				}
				running, err := n.client("function").Start(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				const size, bytes = 64 << 10, 256 << 20
				before := n.memory()
				client := n.client("publisher")
				var peak int64
				for i := range bytes / size {
					if err := client.Send(t.Context(), newMessage("a", uint64(i+1), size)); err != nil {
						t.Fatal(err)
					}
					if i%500 == 0 {
						peak = max(peak, n.memory())
					}
				}
				if err := client.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				peak = max(peak, n.memory())
				t.Logf("%d MiB published, memory from %d to %d MiB", bytes>>20, before>>20, peak>>20)
				if grown := peak - before; grown > 224<<20 {
					t.Errorf("the node needs %d MiB more for %d MiB that a function does not handle", grown>>20, bytes>>20)
				}
				close(release)
				running.Stop()
			})
		})
	}
}

// TestStalledFunction has one function stall. A message of another route takes as long as before.
func TestStalledFunction(t *testing.T) {
	streams := "[{name: orders, tags: orders/#, storage: memory}, {name: other, tags: other/#, storage: memory}]"
	eachEngine(t, streams, func(t *testing.T, n *runningNode) {
		publisher := n.client("publisher")
		var arrived atomic.Pointer[chan time.Time]
		running, err := n.client("quick").Start(t.Context(), stream.Function{
			Observe: []string{"orders/#"},
			From:    stream.FromFirst(), // the stream is empty
			Handler: stream.Sink(func(context.Context, *ferry.Message) error { *arrived.Load() <- time.Now(); return nil }),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer running.Stop()

		var number uint64
		measure := func() (p99 time.Duration) {
			const messages = 2000
			var all []time.Duration
			for range messages {
				number++
				done := make(chan time.Time, 1)
				arrived.Store(&done)
				start := time.Now()
				if err := publisher.Send(t.Context(), newMessage("a", number, 256)); err != nil {
					t.Fatal(err)
				}
				select {
				case at := <-done:
					all = append(all, at.Sub(start))
				case <-time.After(timeout):
					t.Fatal("a message does not arrive")
				}
			}
			slices.Sort(all)
			return all[messages*99/100]
		}
		var ratios []float64
		for range latencyRounds {
			without := measure()
			stop := stall(t, n)
			with := measure()
			stop()
			ratios = append(ratios, float64(with)/float64(without))
			t.Logf("p99 %v, with a stalled function %v", without, with)
		}
		slices.Sort(ratios)
		if median := ratios[len(ratios)/2]; median > maxLatencyRatio {
			t.Errorf("p99 with a stalled function is %.2f times that without, want at most %.2f", median, maxLatencyRatio)
		}
	})
}

// stall starts a function that never returns, and fills its window. It goes on until stop is called.
func stall(t *testing.T, n *runningNode) (stop func()) {
	t.Helper()
	release := make(chan struct{})
	resume := sync.OnceFunc(func() { close(release) })
	client := n.client("stalled")
	t.Cleanup(resume) // before the client is closed, which waits for the handler
	running, err := client.Start(t.Context(), stream.Function{
		Observe: []string{"other/#"},
		From:    stream.FromFirst(),
		Handler: stream.Sink(func(context.Context, *ferry.Message) error { <-release; return nil }),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 { // twice its window
		if err := client.Send(t.Context(), ferry.Message{Tag: "other/a", Payload: make([]byte, 1024)}); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		resume()
		running.Stop()
	}
}
