package balance

import "time"

// choosers holds the function of each policy. The function chooses an endpoint of m.up other than avoid. m.up has at
// least two endpoints. avoid may be nil.
var choosers = map[Policy]chooser{
	LeastRequest: leastRequest,
	RoundRobin:   roundRobin,
	EWMA:         leastCost,
}

type chooser func(s *Set, m *members, random uint64, now time.Duration, avoid *Endpoint) *Endpoint

// Pick chooses an endpoint for a request and counts the request as active. The caller must call Done once. random is
// 64 random bits, and now is the caller's clock. avoid is an endpoint that has just failed: Pick returns it only if
// there is no other. The errors are ErrNoEndpoint and ErrOverload.
//
// Pick skips endpoints that are drained, down or ejected, and then those of another than the lowest priority number that is left. If
// all healthy endpoints are ejected, Pick uses them anyway. If all endpoints are drained or down, the error is ErrNoEndpoint.
func (s *Set) Pick(random uint64, now time.Duration, avoid *Endpoint) (*Endpoint, error) {
	m := s.members.Load()
	if now >= m.firstReadmit {
		m = s.readmit(now)
	}
	if len(m.up) == 0 {
		return nil, ErrNoEndpoint
	}
	if !s.admit() {
		return nil, ErrOverload
	}
	e := m.up[0]
	if len(m.up) > 1 {
		e = s.choose(s, m, random, now, avoid)
	}
	e.load.begin()
	return e, nil
}

// drawTwo draws two different endpoints by weight. If one of them is avoid, a and b are both the other one.
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

// leastRequest chooses the less busy of two random endpoints. If all endpoints were compared, all loops would choose
// the same endpoint at the same time. M. Mitzenmacher, The Power of Two Choices in Randomized Load Balancing, 2001.
func leastRequest(_ *Set, m *members, random uint64, _ time.Duration, avoid *Endpoint) *Endpoint {
	a, b := drawTwo(m, random, avoid)
	if uint64(b.load.active())*a.weight.Load() < uint64(a.load.active())*b.weight.Load() {
		return b
	}
	return a
}

// leastCost chooses the cheaper of two random endpoints. Weights affect only the cost of active requests: between
// idle endpoints only the latency decides.
func leastCost(_ *Set, m *members, random uint64, now time.Duration, avoid *Endpoint) *Endpoint {
	a, b := drawTwo(m, random, avoid)
	if a != b && cheaper(a, b, m.meanWeight, now) {
		return b
	}
	return a
}

// roundRobin advances over the positions by a fixed stride. Endpoints of equal weight take turns. With different
// weights, the requests to each endpoint are evenly spaced. D. Knuth, The Art of Computer Programming, volume 3,
// section 6.4, theorem S.
func roundRobin(s *Set, m *members, _ uint64, _ time.Duration, avoid *Endpoint) *Endpoint {
	i := m.owner((s.turn.Add(1) - 1) % m.total * m.stride % m.total)
	if m.up[i] == avoid {
		i = (i + 1) % len(m.up)
	}
	return m.up[i]
}
