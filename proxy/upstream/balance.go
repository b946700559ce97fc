package upstream

import "time"

// balances chooses one of m.up, of which there are at least two. It is not to be avoid, which may be nil.
var balances = map[Balance]func(c *Cluster, m *members, random uint64, now time.Duration, avoid *Endpoint) *Endpoint{
	LeastRequest: leastRequest,
	RoundRobin:   roundRobin,
	EWMA:         leastCost,
}

// Pick chooses an endpoint for a request and counts it as in flight: Done must follow, once. random is 64 random bits, now the
// loop's clock; avoid is an endpoint that has just failed, and chosen only if there is no other. The errors are
// ErrNoEndpoint and ErrOverload.
//
// Endpoints that are down or ejected are passed over. If all that are not down are ejected, they are used all the same; if all
// are down, that is ErrNoEndpoint.
func (c *Cluster) Pick(random uint64, now time.Duration, avoid *Endpoint) (*Endpoint, error) {
	m := c.members.Load()
	if now >= m.until {
		m = c.readmit(now)
	}
	if len(m.up) == 0 {
		return nil, ErrNoEndpoint
	}
	if !c.begin() {
		return nil, ErrOverload
	}
	e := m.up[0]
	if len(m.up) > 1 {
		e = c.choose(c, m, random, now, avoid)
	}
	e.load.begin()
	return e, nil
}

// two draws two different endpoints by weight. If one of them is avoid, both are the other one.
func two(m *members, random uint64, avoid *Endpoint) (a, b *Endpoint) {
	i := m.one(uint32(random >> 32))
	j := m.other(i, uint32(random))
	switch a, b = m.up[i], m.up[j]; avoid {
	case a:
		return b, b
	case b:
		return a, a
	}
	return a, b
}

// leastRequest draws two, as asking all of them would have all loops rush to the same one. M. Mitzenmacher, The Power of Two
// Choices in Randomized Load Balancing, 2001.
func leastRequest(_ *Cluster, m *members, random uint64, _ time.Duration, avoid *Endpoint) *Endpoint {
	a, b := two(m, random, avoid)
	if uint64(b.load.active())*a.weight < uint64(a.load.active())*b.weight {
		return b
	}
	return a
}

// leastCost draws two as leastRequest does. Between idle ones latency alone decides; weights are for what is in flight.
func leastCost(_ *Cluster, m *members, random uint64, now time.Duration, avoid *Endpoint) *Endpoint {
	a, b := two(m, random, avoid)
	if a != b && b.cost(m.mean, now) < a.cost(m.mean, now) {
		return b
	}
	return a
}

// roundRobin strides over the positions: endpoints of one weight come one after the other, those of several weights each as
// evenly spread as can be. D. Knuth, The Art of Computer Programming, volume 3, section 6.4, theorem S.
func roundRobin(c *Cluster, m *members, _ uint64, _ time.Duration, avoid *Endpoint) *Endpoint {
	i := m.at((c.turn.Add(1) - 1) % m.total * m.stride % m.total)
	if m.up[i] == avoid {
		i = (i + 1) % len(m.up)
	}
	return m.up[i]
}
