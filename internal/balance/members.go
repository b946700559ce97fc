package balance

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"
)

// members is a snapshot of a set's endpoints. It is immutable, so Pick reads it without a lock. Each change
// publishes a new members, with Set.mu held.
type members struct {
	all          []*Endpoint
	up           []*Endpoint   // endpoints that get requests
	meanWeight   float64       // mean weight of up
	firstReadmit time.Duration // when the first ejection ends

	// A position is a number below total. Each endpoint in up owns a range of positions in proportion to its weight.
	positionEnds []uint64 // end of each endpoint's range; nil if each range is one position
	guide        []int32  // for each block of 1<<shift positions, the owner of the block's first position
	shift        int
	total        uint64
	stride       uint64 // coprime to total, so that total steps visit each position once
}

// manyPositions is large enough that a coprime stride exists close to the golden ratio.
const manyPositions = 1 << 30

// newMembers sets up to the endpoints that are healthy and not ejected, of the lowest priority number that has any. If all
// healthy endpoints are ejected, up has those of the lowest priority number, because a response that may fail is better than
// none. An endpoint that is drained, or whose active health checks have failed, is never in up.
func newMembers(all []*Endpoint) *members {
	m := &members{all: all, firstReadmit: math.MaxInt64}
	var healthy, admitted []*Endpoint
	for _, e := range all {
		out := time.Duration(e.ejectedUntil.Load())
		if out != 0 {
			m.firstReadmit = min(m.firstReadmit, out)
		}
		if e.down.Load() || e.drained.Load() {
			continue
		}
		healthy = append(healthy, e)
		if out == 0 {
			admitted = append(admitted, e)
		}
	}
	if m.up = preferred(admitted); m.up == nil {
		m.up = preferred(healthy)
	}
	m.assignPositions()
	return m
}

// preferred returns the endpoints of the lowest priority number.
func preferred(all []*Endpoint) []*Endpoint {
	if len(all) == 0 {
		return nil
	}
	first := slices.MinFunc(all, func(a, b *Endpoint) int { return cmp.Compare(a.Priority(), b.Priority()) }).Priority()
	return slices.DeleteFunc(all, func(e *Endpoint) bool { return e.Priority() != first })
}

// assignPositions assigns a range of positions to each endpoint in up.
func (m *members) assignPositions() {
	even := true
	for _, e := range m.up {
		m.total += e.weight.Load()
		even = even && e.weight.Load() == m.up[0].weight.Load()
	}
	n := uint64(len(m.up))
	m.meanWeight = float64(m.total) / float64(n)
	if even {
		m.total, m.stride = n, 1
		return
	}
	// 32 random bits draw a position, so their number stays below 2^32 whatever the weights add up to.
	units := func(e *Endpoint) uint64 { return e.weight.Load() }
	if m.total > manyPositions {
		excess := m.total/manyPositions + 1
		units = func(e *Endpoint) uint64 { return max(e.weight.Load()/excess, 1) }
		m.total = 0
		for _, e := range m.up {
			m.total += units(e)
		}
	}
	each := manyPositions/m.total + 1 // positions per unit of weight
	m.total *= each
	end := uint64(0)
	for _, e := range m.up {
		end += units(e) * each
		m.positionEnds = append(m.positionEnds, end)
	}
	m.shift = bits.Len64(m.total) - bits.Len64(n) - 2 // so that there are a few blocks for each endpoint in up
	for i, p := 0, uint64(0); p < m.total; p += 1 << m.shift {
		for m.positionEnds[i] <= p {
			i++
		}
		m.guide = append(m.guide, int32(i))
	}
	// A stride of total divided by the golden ratio spreads the visits to each range evenly.
	m.stride = uint64(float64(m.total) * (math.Phi - 1))
	for gcd(m.stride, m.total) != 1 {
		m.stride++
	}
}

// owner returns the index in up of the owner of position p.
func (m *members) owner(p uint64) int {
	if m.positionEnds == nil {
		return int(p)
	}
	i := m.guide[p>>m.shift]
	for m.positionEnds[i] <= p {
		i++
	}
	return int(i)
}

// draw returns a random index of up. An index is as likely as its weight.
func (m *members) draw(random uint32) int { return m.owner(scale(random, m.total)) }

// drawOther returns a random index of up other than i, by weight. up has at least two endpoints.
func (m *members) drawOther(i int, random uint32) int {
	start, end := uint64(i), uint64(i+1)
	if m.positionEnds != nil {
		start, end = 0, m.positionEnds[i]
		if i > 0 {
			start = m.positionEnds[i-1]
		}
	}
	p := scale(random, m.total-(end-start))
	if p >= start {
		p += end - start
	}
	return m.owner(p)
}

// scale maps random to a number below n without division.
func scale(random uint32, n uint64) uint64 { return uint64(random) * n >> 32 }

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
