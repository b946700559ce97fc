package harness

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"
)

// The void-round rule. Before each measurement the same short computation is timed, on all cores at once. Where nothing
// else wants the CPU it always takes the same time; so a round in which more than a tenth of these spins took over 1.2
// times as long as the best spin of the whole run was disturbed by somebody else: it is void and is measured again.
const (
	slowSpin     = 1.2
	slowShare    = 0.1
	spinSteps    = 400_000
	extraRounds  = 2 // times the rounds asked for: how many void ones are borne
	spinsPerTurn = 3
	tries        = 3 // how often a measurement is taken that a question calls disturbed
)

// calm watches how undisturbed the machine is.
type calm struct {
	best  time.Duration
	round []time.Duration
}

// spin times the same work a few times.
func (c *calm) spin() {
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
func (c *calm) endRound() float64 {
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

// round is what one turn of all contenders gave: figures by row and case.
type round struct {
	slow      float64 // share of slow spins
	disturbed int     // measurements of which the question says so
	figures   map[string]map[string]Figures
}

func (r round) void() bool { return r.slow > slowShare || r.disturbed > 0 }

// keep returns the n rounds to count: those that are not void, and if there are too few the least disturbed ones.
func keep(rounds []round, n int) []round {
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
