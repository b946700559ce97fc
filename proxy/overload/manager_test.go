package overload

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// recorder records the actions of a Manager.
type recorder struct {
	busy   atomic.Bool // the next call of Shrink fails
	shrunk atomic.Bool
	closed atomic.Int64 // calls of CloseIdle
}

func (r *recorder) Shrink(on bool) (done bool) {
	if r.busy.Swap(false) {
		return false
	}
	r.shrunk.Store(on)
	return true
}

func (r *recorder) CloseIdle(int) { r.closed.Add(1) }

// TestManager: memory rises and falls, in a simulated process. The Manager acts on each level and takes everything back.
func TestManager(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	synctest.Test(t, func(t *testing.T) {
		var memory, conns atomic.Int64
		act := &recorder{}
		m := New(&Config{Memory: 1 << 30, LoopLatency: -1}, Process{
			MemoryBudget: 1, Memory: memory.Load, Connections: conns.Load, MaxConnections: func() int64 { return 100 }, Loops: []Poster{&fakeLoop{}},
		}, act, slog.New(slog.DiscardHandler))
		conns.Store(1)
		ctx, stop := context.WithCancel(t.Context())
		var ended atomic.Bool
		go func() {
			m.Run(ctx)
			ended.Store(true)
		}()
		state := m.State()
		share := func(part float64) { memory.Store(int64(part * (1 << 30))); time.Sleep(calmInterval + time.Millisecond) }
		expect := func(l Level, ends, refusesSome, refusesAll, refusesConns bool) {
			t.Helper()
			refused := 0
			for range 1000 {
				if state.RefusesRequest() {
					refused++
				}
			}
			if state.Level() != l || state.EndsKeepAlive() != ends || (refused > 0) != refusesSome || (refused == 1000) != refusesAll || state.RefusesConnection() != refusesConns {
				t.Fatalf("%v, ends keep-alive %v, %d of 1000 requests refused, connections refused %v; want %v", state.Level(), state.EndsKeepAlive(), refused, state.RefusesConnection(), l)
			}
			if act.shrunk.Load() != ends {
				t.Fatalf("shrunk is %v at level %v", act.shrunk.Load(), l)
			}
		}
		time.Sleep(time.Second)
		expect(Normal, false, false, false, false)
		share(0.91)
		expect(Shrinking, true, false, false, false)
		time.Sleep(5 * time.Second)
		if n := act.closed.Load(); n < 5 || n > 6 {
			t.Errorf("idle connections were closed %d times in 5 s", n)
		}
		share(0.95)
		expect(RefusingRequests, true, true, false, false)
		share(1.1)
		expect(RefusingConnections, true, true, true, true)
		if after := state.RetryAfter(); after < time.Second || after > 5*time.Second {
			t.Errorf("Retry-After %v", after)
		}
		share(0.5)
		act.busy.Store(true)
		time.Sleep(3 * time.Second)
		expect(Normal, false, false, false, false)
		n := act.closed.Load()
		conns.Store(95)
		time.Sleep(time.Second)
		expect(Shrinking, true, false, false, false)
		if act.closed.Load() == n {
			t.Error("no idle connection is closed when all connections are in use")
		}
		s := m.Stats()
		if s.Raised != [4]uint64{0, 2, 1, 1} || s.Connections != 95 || s.MemoryBudget != 1<<30 || s.MaxConnections != 100 || s.Level != Shrinking {
			t.Errorf("stats %+v", s)
		}
		m.Use(&Config{Off: true})
		memory.Store(1 << 40)
		time.Sleep(time.Second)
		expect(Normal, false, false, false, false)
		m.Use(&Config{})
		time.Sleep(time.Second)
		expect(RefusingConnections, true, true, true, true) // the budget of the process is 1 byte
		stop()
		synctest.Wait()
		if !ended.Load() || state.Level() != Normal || state.EndsKeepAlive() {
			t.Errorf("after the end: %v", state.Level())
		}
	})
	if after := debug.SetMemoryLimit(-1); after != before {
		t.Errorf("Go's memory limit is %d, before it was %d", after, before)
	}
}

// TestUnusedManager: without a client the process is sampled once a second, with one ten times.
func TestUnusedManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var samples, conns atomic.Int64
		m := New(&Config{}, Process{
			Memory: func() int64 { samples.Add(1); return 0 }, Connections: conns.Load, MaxConnections: func() int64 { return 100 },
		}, &recorder{}, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		go m.Run(ctx)
		for _, row := range []struct{ conns, least, most int64 }{{0, 9, 11}, {1, 90, 101}, {0, 9, 11}} {
			conns.Store(row.conns)
			before := samples.Load()
			time.Sleep(10 * time.Second)
			if n := samples.Load() - before; n < row.least || n > row.most {
				t.Errorf("%d clients: %d samples in 10 s, want %d to %d", row.conns, n, row.least, row.most)
			}
		}
		stop()
		synctest.Wait()
	})
}

// TestNilState: without a Manager nothing is shed.
func TestNilState(t *testing.T) {
	var s *State
	if s.Level() != Normal || s.RefusesRequest() || s.RefusesConnection() || s.EndsKeepAlive() {
		t.Error("a nil State sheds")
	}
}

func BenchmarkRefusesRequest(b *testing.B) {
	var s State
	for b.Loop() {
		if s.RefusesRequest() {
			b.Fatal("refused")
		}
	}
}

func TestCheck(t *testing.T) {
	for want, cfg := range map[string]Config{
		"": {Memory: 64 << 20, LoopLatency: -1},
		"overload: memory: 1MiB: write at least 32MiB, or 0 for what the system allows": {Memory: 1 << 20},
	} {
		got := ""
		if err := cfg.Check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
