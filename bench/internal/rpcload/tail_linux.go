package rpcload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/internal/load"
)

// A server of a Tail handles tailSlots requests at a time, each of which takes between half and one and a half of tailWork. It waits
// meanwhile, so that the load of the servers does not depend on the machine.
const (
	TailServers = 3
	tailSlots   = 8
	tailWork    = 10 * time.Millisecond

	// TailRate is the number of calls a second: half of what the servers can do.
	TailRate = TailServers * tailSlots * int(time.Second/tailWork) / 2

	tailWorkers = 4 * TailRate // calls in progress, more than there can be in a stall
)

// The figures of a Tail, besides P50, P99, P999, Max, Calls and Failures.
const (
	Extra  = "extra attempts" // by calls
	Late99 = "generator late p99 us"
)

// TailFigures are the names of the figures besides P999.
var TailFigures = []string{P50, P99, Max, Extra, Calls, Failures, Late99}

// capacity bounds what a server handles at a time.
type capacity chan struct{}

func newCapacity() capacity { return make(capacity, tailSlots) }

// use waits for a slot and keeps it for the time of one request. A call that is cancelled gives up its place.
func (c capacity) use(ctx context.Context) error {
	select {
	case c <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	time.Sleep(tailWork/2 + rand.N(tailWork))
	<-c
	return nil
}

// Tail is a client, and servers of which the first one stalls.
type Tail struct {
	client  *child.Process
	servers []*child.Process
}

// OpenTail starts them, and makes calls for a short time.
func OpenTail(s System, dir string) (_ *Tail, err error) {
	t := new(Tail)
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	spec := Spec{Role: serverRole, System: s.Name, Dir: dir, Workers: tailWorkers, Conns: 1}
	var addrs []string
	for range TailServers {
		p, first, err := start(spec, s.Kind)
		if err != nil {
			return nil, err
		}
		t.servers = append(t.servers, p)
		addrs = append(addrs, first.Addr)
	}
	spec.Role, spec.Addr = clientRole, strings.Join(addrs, ",")
	if t.client, _, err = start(spec, s.Kind); err != nil {
		return nil, err
	}
	return t, t.client.Ask(order{Do: paceFor, Time: warm, Rate: float64(TailRate)}, new(report), patience)
}

// Run makes calls for d. In each period, a server stalls for a tenth of it: the kernel stops its process.
func (t *Tail) Run(d, period time.Duration) (harness.Figures, error) {
	ctx, cancel := context.WithCancel(context.Background())
	stalled := make(chan error, 1)
	go func() { stalled <- stall(ctx, t.servers[0].PID(), period) }()
	var r report
	err := t.client.Ask(order{Do: paceFor, Time: d, Rate: float64(TailRate)}, &r, d+2*callTime)
	cancel()
	if err = errors.Join(err, <-stalled); err != nil {
		return nil, err
	}
	if r.Calls == 0 {
		return nil, errors.New("rpcload: no calls")
	}
	if r.Failures > 0 {
		return nil, fmt.Errorf("rpcload: %d of %d calls have failed: %s", r.Failures, r.Calls, r.Failure)
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	return harness.Figures{
		P50: us(r.Paced.P50), P99: us(r.Paced.P99), P999: us(r.Paced.P999), Max: us(r.Longest), Late99: us(r.Paced.Late99),
		Extra: float64(r.Paced.Attempts)/float64(r.Calls) - 1, Calls: float64(r.Calls), Failures: float64(r.Failures),
	}, nil
}

// stall stops a process in the middle of each period, until ctx ends.
func stall(ctx context.Context, pid int, period time.Duration) error {
	every := time.NewTimer(period / 2)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
		every.Reset(period)
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(period / 10):
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			return err
		}
	}
}

// Close ends all processes.
func (t *Tail) Close() {
	for _, p := range append(slices.Clone(t.servers), t.client) {
		p.End()
	}
}

// paced is what an open loop has measured, from when each call was due.
type paced struct {
	P50, P99, P999 time.Duration
	Late99         time.Duration // of the generator
	Attempts       int           // that the client began
}

// attempting is a Client that may make several attempts for a call.
type attempting interface {
	Client
	// Attempts returns how many it has begun so far.
	Attempts() int
}

// pace makes calls at random times, rate a second on average, for a time.
func pace(c Client, workers int, rate float64, d time.Duration) (r report) {
	counts, ok := c.(attempting)
	if !ok {
		return report{Err: "this client does not count its attempts"}
	}
	before := counts.Attempts()
	l, err := load.New(&load.Config{Rate: rate, Workers: workers, Duration: d, Drain: callTime}, pacedTarget{c})
	if err != nil {
		return report{Err: err.Error()}
	}
	result, err := l.Run(context.Background())
	if err != nil {
		return report{Err: err.Error()}
	}
	r = report{
		Elapsed: result.Took, Calls: result.OK + result.Failed, Failures: result.Failed, Longest: result.Latency.Max(), Shortest: result.Latency.Min(),
		Paced: paced{
			result.Latency.Quantile(0.5), result.Latency.Quantile(0.99), result.Latency.Quantile(0.999), result.Late.Quantile(0.99),
			counts.Attempts() - before,
		},
	}
	if len(result.Examples) > 0 {
		r.Failure = result.Examples[0]
	}
	if result.Unfinished > 0 {
		r.Err = fmt.Sprintf("%d calls have not ended %v after the last one was due", result.Unfinished, callTime)
	}
	return r
}

// pacedTarget makes each worker call through the same client.
type pacedTarget struct{ client Client }

func (t pacedTarget) Connect(_ context.Context, worker int) (load.Client, error) {
	return pacedClient{t.client, worker}, nil
}

type pacedClient struct {
	client Client
	worker int
}

func (c pacedClient) Do(context.Context) error { return c.client.Call(c.worker) }
func (c pacedClient) Close()                   {}
