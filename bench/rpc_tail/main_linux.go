// Rpc_tail measures the slowest calls of a client with three servers, one of which stalls now and then.
package main

import (
	"fmt"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/rpcload"
)

func main() {
	rpcload.Main(rpcload.TailSystems())
	harness.Main(newExperiment().question())
}

// the only case
const stalls = "a stall of 1 s every 10 s"

// A measurement takes two periods. With the default budget of 50 ms, a period is 10 s.
const (
	periods = 2
	budgets = 200 // in a period
)

// lateLimit is in us. Above it, the calls were not begun when they were due.
const lateLimit = 1000

// experiment is the state that all measurements of a run share.
type experiment struct {
	systems []rpcload.System
	dir     string
}

func newExperiment() *experiment { return &experiment{systems: rpcload.TailSystems()} }

func (e *experiment) prepare(dir string) error {
	e.dir = dir
	return nil
}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "rpc_tail",
		Title:  "RPC: the slowest calls when a server stalls",
		Unit:   rpcload.P999,
		Better: harness.Lower,
		About: fmt.Sprintf("An open loop makes %d calls a second at random times (Poisson) to three servers, half of what they can do: each handles 8 calls at a time, for 5 to 15 ms, in which it waits. "+
			"The kernel stops the process of one of them for a tenth of each period of 10 s, with SIGSTOP. Latencies count from when a call was due. All methods may run twice, and the client's defaults are used except where the row says so. "+
			"Extra attempts are those beyond one for each call.", rpcload.TailRate),
		Cases:     []string{stalls},
		Figures:   rpcload.TailFigures,
		Prepare:   e.prepare,
		Disturbed: func(f harness.Figures) bool { return f[rpcload.Late99] > lateLimit },
		Checks: []harness.Check{{Name: "in each row every call succeeds, also those of a server that stalls", Run: func() error {
			for _, s := range e.systems {
				if _, err := e.measure(s, 2*time.Millisecond); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
			}
			return nil
		}}},
		Goals: []harness.Goal{
			harness.AtMost(0.2, "99.9th percentile, times grpc-go's", func(r *harness.Result) float64 {
				return r.Ratio(rpcload.Ferry, rpcload.TailGRPCGo, stalls, rpcload.P999)
			}),
			harness.AtMost(0.05, "attempts beyond one for each call", func(r *harness.Result) float64 {
				return r.Stat(rpcload.Ferry, stalls, rpcload.Extra).Max
			}),
		},
		Notes: []string{"grpc-go's round robin is its only policy for several servers that needs no xDS. It has neither hedges nor ejection without xDS."},
	}
	for _, s := range e.systems {
		q.Contenders = append(q.Contenders, harness.Contender{Name: s.Name, Kind: s.Kind, Version: s.Version, Measure: func(_ string, budget time.Duration) (harness.Figures, error) {
			return e.measure(s, budget)
		}})
	}
	return q
}

func (e *experiment) measure(s rpcload.System, budget time.Duration) (harness.Figures, error) {
	t, err := rpcload.OpenTail(s, e.dir)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	period := budgets * budget
	return t.Run(periods*period, period)
}
