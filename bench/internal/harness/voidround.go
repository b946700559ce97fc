package harness

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"
)

// The rule of void rounds. Before each measurement, all cores run the same short computation, called a spin. On an idle machine
// a spin always takes the same time. A spin is slow if it took over 1.2 times as long as the fastest spin of the run. A round
// is void if more than a tenth of its spins were slow: other programs used the CPU. A void round is measured again.
const (
	slowSpin     = 1.2
	slowShare    = 0.1
	spinSteps    = 400_000
	extraRounds  = 2 // at most extraRounds times Config.Rounds void rounds are measured again
	spinsPerTurn = 3
	tries        = 3 // maximum number of attempts if a measurement is disturbed
)

// spinTimer detects whether other programs use the CPU.
type spinTimer struct {
	best  time.Duration
	round []time.Duration
}

// spin runs the same computation a few times and records the durations.
func (c *spinTimer) spin() {
	for range spinsPerTurn {
		var cores sync.WaitGroup
		start := time.Now()
		for range runtime.GOMAXPROCS(0) {
			cores.Go(func() { runtime.KeepAlive(xorshift(spinSteps)) })
		}
		cores.Wait()
		took := time.Since(start)
		if c.best == 0 || took < c.best {
			c.best = took
		}
		c.round = append(c.round, took)
	}
}

// endRound returns the share of slow spins in the current round, and begins the next round.
func (c *spinTimer) endRound() float64 {
	slow := 0
	for _, took := range c.round {
		if float64(took) > slowSpin*float64(c.best) {
			slow++
		}
	}
	share := float64(slow) / float64(max(1, len(c.round)))
	c.round = c.round[:0]
	return share
}

func xorshift(n int) uint64 {
	x := uint64(88172645463325252)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// round holds one measurement of each contender in each case.
type round struct {
	slow      float64 // share of slow spins
	disturbed int     // number of measurements that Question.Disturbed reported
	figures   map[string]map[string]Figures
}

func (r round) void() bool { return r.slow > slowShare || r.disturbed > 0 }

// leastDisturbed returns n rounds. It prefers rounds that are not void, and then rounds with fewer disturbances.
func leastDisturbed(rounds []round, n int) []round {
	sorted := slices.Clone(rounds)
	slices.SortStableFunc(sorted, func(a, b round) int {
		switch {
		case !a.void() && !b.void():
			return 0
		case a.disturbed != b.disturbed:
			return a.disturbed - b.disturbed
		}
		return cmp.Compare(a.slow, b.slow)
	})
	return sorted[:min(n, len(sorted))]
}
