package harness

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"
)

// The rule of void rounds. Before each measurement, all cores run the same short computation, a spin. On an idle machine a
// spin always takes the same time. A round is void if more than a tenth of its spins took over 1.2 times as long as the best
// spin of the run: other programs used the CPU. A void round is measured again.
const (
	slowSpin     = 1.2
	slowShare    = 0.1
	spinSteps    = 400_000
	extraRounds  = 2 // as many void rounds as this times Config.Rounds are measured again
	spinsPerTurn = 3
	tries        = 3 // how often a disturbed measurement is taken
)

// spinTimer measures whether other programs use the CPU.
type spinTimer struct {
	best  time.Duration
	round []time.Duration
}

// spin times the same work a few times.
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

// endRound returns the share of spins in the round that were slow, and begins the next round.
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

// round is one measurement of each contender in each case.
type round struct {
	slow      float64 // share of slow spins
	disturbed int     // measurements that Question.Disturbed reports
	figures   map[string]map[string]Figures
}

func (r round) void() bool { return r.slow > slowShare || r.disturbed > 0 }

// leastDisturbed returns n rounds: those that are not void first, then those with the fewest disturbances.
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
