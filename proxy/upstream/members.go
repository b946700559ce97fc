package upstream

import (
	"math"
	"math/bits"
	"time"
)

// members is the endpoints of a cluster at one moment. It never changes: whoever changes something makes another one, with
// Cluster.mu held, and so Pick reads one without a lock.
type members struct {
	all   []*Endpoint
	up    []*Endpoint   // those that get requests
	mean  float64       // weight of up
	until time.Duration // when the first ejection ends

	// A position is a number below total. Each of up owns positions in proportion to its weight, one behind the other.
	ends   []uint64 // of the positions of each; nil if each owns one
	guide  []int32  // whose the first position is of each 1<<shift
	shift  int
	total  uint64
	stride uint64 // shares no factor with total: total strides, a round, visit each position once
}

// manyPositions is so many that the stride closest to the golden ratio that shares no factor is as good as the ratio itself.
const manyPositions = 1 << 30

// newMembers decides who is up: whoever is healthy and not ejected. If that is nobody, those that are ejected get
// requests as if they were not: too many failing answers are better than none. Whoever the active health check has found
// to be down gets none in any case.
func newMembers(all []*Endpoint) *members {
	m := &members{all: all, until: math.MaxInt64}
	var healthy []*Endpoint
	for _, e := range all {
		out := time.Duration(e.out.Load())
		if out != 0 {
			m.until = min(m.until, out)
		}
		if e.down.Load() {
			continue
		}
		healthy = append(healthy, e)
		if out == 0 {
			m.up = append(m.up, e)
		}
	}
	if m.up == nil {
		m.up = healthy
	}
	m.share()
	return m
}

// share gives each of up its positions.
func (m *members) share() {
	even := true
	for _, e := range m.up {
		m.total += e.weight
		even = even && e.weight == m.up[0].weight
	}
	n := uint64(len(m.up))
	m.mean = float64(m.total) / float64(n)
	if even {
		m.total, m.stride = n, 1
		return
	}
	each := manyPositions/m.total + 1 // for a unit of weight
	m.total *= each
	end := uint64(0)
	for _, e := range m.up {
		end += e.weight * each
		m.ends = append(m.ends, end)
	}
	m.shift = bits.Len64(m.total) - bits.Len64(n) - 2 // a few parts for each of up
	for i, p := 0, uint64(0); p < m.total; p += 1 << m.shift {
		for m.ends[i] <= p {
			i++
		}
		m.guide = append(m.guide, int32(i))
	}
	// Strides of the golden ratio leave no stretch of positions unvisited for long, and visit none too often.
	m.stride = uint64(float64(m.total) * (math.Phi - 1))
	for gcd(m.stride, m.total) != 1 {
		m.stride++
	}
}

// at returns whose position p is, as an index of up.
func (m *members) at(p uint64) int {
	if m.ends == nil {
		return int(p)
	}
	i := m.guide[p>>m.shift]
	for m.ends[i] <= p {
		i++
	}
	return int(i)
}

// one draws one of up by weight, as an index.
func (m *members) one(random uint32) int { return m.at(scale(random, m.total)) }

// other draws one of up that is not i, by weight. There must be one.
func (m *members) other(i int, random uint32) int {
	start, end := uint64(i), uint64(i+1)
	if m.ends != nil {
		start, end = 0, m.ends[i]
		if i > 0 {
			start = m.ends[i-1]
		}
	}
	p := scale(random, m.total-(end-start))
	if p >= start {
		p += end - start
	}
	return m.at(p)
}

// scale maps random evenly to the numbers below n.
func scale(random uint32, n uint64) uint64 { return uint64(random) * n >> 32 }

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
