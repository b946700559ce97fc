package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Load is a load to be run once. Run and Progress may overlap.
type Load struct {
	cfg    *Config
	target Target
	clock  clock

	begun    atomic.Int64 // when the first request was due, in ns of the clock; 0 before
	counters counters
	failures failures
	shards   []*shard

	tickets atomic.Int64 // measured requests that workers of a closed loop have taken
	backlog chan arrival // of an open loop
	pending atomic.Int64 // arrivals that are in the backlog or in progress
}

// arrival is a request of an open loop.
type arrival struct {
	due      time.Duration
	issued   time.Duration // when it was put into the backlog
	idle     bool          // there was an idle worker then, so it should start at once
	measured bool
}

// maxBacklog bounds the requests of an open loop that wait for a worker.
const maxBacklog = 1 << 16

// New checks cfg. A nil cfg means defaults.
func New(cfg *Config, t Target) (*Load, error) {
	c, err := cfg.check()
	if err != nil {
		return nil, err
	}
	l := &Load{cfg: c, target: t}
	for range min(2*runtime.GOMAXPROCS(0), c.Workers) {
		l.shards = append(l.shards, &shard{latency: NewHistogram(), late: NewHistogram()})
	}
	return l, nil
}

// Run connects the workers, generates the load and returns what was measured. If ctx ends, Run interrupts the requests in progress,
// and the result is that of the requests until then. The error says that a worker could not connect at the start.
func (l *Load) Run(ctx context.Context) (*Result, error) {
	clients, err := l.connect(ctx)
	closeAll := func() {
		for _, c := range clients {
			c.Close()
		}
	}
	defer closeAll()
	if err != nil {
		return nil, err
	}
	if l.clock == nil {
		l.clock = newSystemClock()
	}
	defer l.clock.close()
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(runCtx, closeAll)()
	begin := l.clock.now()
	l.begun.Store(int64(max(begin, 1)))
	from := begin + l.cfg.WarmUp
	var workers sync.WaitGroup
	if l.cfg.Rate == 0 {
		for i, c := range clients {
			workers.Go(func() { l.closedLoop(runCtx, c, l.shards[i%len(l.shards)], from) })
		}
		workers.Wait()
		return l.result(ctx, from), nil
	}
	l.backlog = make(chan arrival, maxBacklog)
	for i, c := range clients {
		workers.Go(func() { l.openLoop(runCtx, c, l.shards[i%len(l.shards)]) })
	}
	l.pace(ctx, begin, from)
	close(l.backlog)
	drain := time.AfterFunc(l.cfg.Drain, cancel)
	workers.Wait()
	drain.Stop()
	return l.result(ctx, from), nil
}

// connecting is how many workers connect at a time.
const connecting = 64

// connect returns a client for each worker.
func (l *Load) connect(ctx context.Context) ([]Client, error) {
	all := make([]Client, l.cfg.Workers)
	errs := make([]error, len(all))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	var next atomic.Int64
	for range min(connecting, len(all)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(all) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if all[i], errs[i] = l.target.Connect(ctx, i); errs[i] != nil {
					all[i] = nil
					cancel() // the first error is enough
				}
			}
		})
	}
	group.Wait()
	var connected []Client
	for _, c := range all {
		if c != nil {
			connected = append(connected, c)
		}
	}
	for i, err := range errs {
		if err != nil {
			return connected, fmt.Errorf("connection %d of %d: %w", i+1, len(all), err)
		}
	}
	if err := ctx.Err(); err != nil {
		return connected, err
	}
	return connected, nil
}

// closedLoop sends one request after another.
func (l *Load) closedLoop(ctx context.Context, c Client, s *shard, from time.Duration) {
	for ctx.Err() == nil {
		now := l.clock.now()
		measured := now >= from
		if measured && l.cfg.Duration > 0 && now >= from+l.cfg.Duration {
			return
		}
		if measured && l.cfg.Requests > 0 && l.tickets.Add(1) > int64(l.cfg.Requests) {
			return
		}
		l.do(ctx, c, s, now, measured)
	}
}

// openLoop sends the requests of the backlog.
func (l *Load) openLoop(ctx context.Context, c Client, s *shard) {
	for a := range l.backlog {
		now := l.clock.now()
		if a.measured {
			late := a.issued - a.due
			if a.idle {
				late = now - a.due
			}
			s.addLate(late)
		}
		if ctx.Err() == nil {
			l.do(ctx, c, s, a.due, a.measured)
		} else if a.measured {
			l.counters.unfinished.Add(1)
		}
		l.pending.Add(-1)
	}
}

// do sends a request. Its latency counts from the given time.
func (l *Load) do(ctx context.Context, c Client, s *shard, from time.Duration, measured bool) {
	if measured {
		l.counters.sent.Add(1)
	}
	err := c.Do(ctx)
	if !measured {
		return
	}
	end := l.clock.now()
	switch {
	case err == nil:
		l.counters.received.Add(1)
		l.counters.ok.Add(1)
		s.add(end-from, end)
	case ctx.Err() != nil:
		l.counters.unfinished.Add(1)
	default:
		f := failureOf(err)
		if f.Received {
			l.counters.received.Add(1)
		}
		l.counters.failed.Add(1)
		l.failures.add(f)
		s.add(end-from, end)
	}
}

// pace puts requests into the backlog when they are due.
func (l *Load) pace(ctx context.Context, begin, from time.Duration) {
	gap := l.gaps()
	measured := 0
	for due := begin + gap(); ; due += gap() {
		if l.cfg.Duration > 0 && due >= from+l.cfg.Duration || l.cfg.Requests > 0 && measured == l.cfg.Requests {
			return
		}
		if due > l.clock.now() {
			l.clock.sleepUntil(ctx, due)
		}
		if ctx.Err() != nil {
			return
		}
		a := arrival{due: due, measured: due >= from}
		if a.measured {
			measured++
		}
		a.idle = l.pending.Add(1) <= int64(l.cfg.Workers)
		a.issued = l.clock.now()
		select {
		case l.backlog <- a:
		default:
			l.pending.Add(-1)
			if a.measured {
				l.counters.failed.Add(1)
				l.failures.add(&Failure{Kind: "not sent", Err: fmt.Errorf("all %d workers were busy and %d requests were waiting", l.cfg.Workers, maxBacklog)})
			}
		}
	}
}

// gaps returns a function that returns the time between two arrivals. The fractions of nanoseconds add up, so the mean rate is exact.
func (l *Load) gaps() func() time.Duration {
	mean, rest := float64(time.Second)/l.cfg.Rate, 0.0
	return func() time.Duration {
		gap := mean
		if !l.cfg.Constant {
			gap *= rand.ExpFloat64()
		}
		gap += rest
		whole := time.Duration(gap)
		rest = gap - float64(whole)
		return whole
	}
}
