package upstream

import "time"

// balancers choose one of m.up, which has at least two endpoints, other than avoid. avoid may be nil.
var balancers = map[Balance]func(c *Cluster, m *members, random uint64, now time.Duration, avoid *Endpoint) *Endpoint{
	LeastRequest: leastRequest,
	RoundRobin:   roundRobin,
	EWMA:         leastCost,
}

// Pick chooses an endpoint for a request and counts the request as active; the caller calls Done once. random is 64 random bits, now
// the loop's clock. avoid is an endpoint that has just failed: it is chosen only if there is no other. The errors are ErrNoEndpoint
// and ErrOverload.
//
// Endpoints that are down or ejected are skipped. If all healthy endpoints are ejected, they are used anyway. If all endpoints are
// down, the error is ErrNoEndpoint.
func (c *Cluster) Pick(random uint64, now time.Duration, avoid *Endpoint) (*Endpoint, error) {
	m := c.members.Load()
	if now >= m.firstReadmit {
		m = c.readmit(now)
	}
	if len(m.up) == 0 {
		return nil, ErrNoEndpoint
	}
	if !c.admit() {
		return nil, ErrOverload
	}
	e := m.up[0]
	if len(m.up) > 1 {
		e = c.balance(c, m, random, now, avoid)
	}
	e.load.begin()
	return e, nil
}

// drawTwo draws two different endpoints by weight. If one of them is avoid, it returns the other one twice.
func drawTwo(m *members, random uint64, avoid *Endpoint) (a, b *Endpoint) {
	i := m.draw(uint32(random >> 32))
	j := m.drawOther(i, uint32(random))
	switch a, b = m.up[i], m.up[j]; avoid {
	case a:
		return b, b
	case b:
		return a, a
	}
	return a, b
}

// leastRequest compares two random endpoints: if all were compared, all loops would choose the same one at the same time.
// M. Mitzenmacher, The Power of Two Choices in Randomized Load Balancing, 2001.
func leastRequest(_ *Cluster, m *members, random uint64, _ time.Duration, avoid *Endpoint) *Endpoint {
	a, b := drawTwo(m, random, avoid)
	if uint64(b.load.active())*a.weight < uint64(a.load.active())*b.weight {
		return b
	}
	return a
}

// leastCost compares two random endpoints, as leastRequest does. Weights apply to active requests: between idle endpoints only the
// latency decides.
func leastCost(_ *Cluster, m *members, random uint64, now time.Duration, avoid *Endpoint) *Endpoint {
	a, b := drawTwo(m, random, avoid)
	if a != b && b.cost(m.meanWeight, now) < a.cost(m.meanWeight, now) {
		return b
	}
	return a
}

// roundRobin strides over the positions. Endpoints of equal weight follow in order; with different weights, the requests of each
// endpoint are spread evenly. D. Knuth, The Art of Computer Programming, volume 3, section 6.4, theorem S.
func roundRobin(c *Cluster, m *members, _ uint64, _ time.Duration, avoid *Endpoint) *Endpoint {
	i := m.owner((c.turn.Add(1) - 1) % m.total * m.stride % m.total)
	if m.up[i] == avoid {
		i = (i + 1) % len(m.up)
	}
	return m.up[i]
}
