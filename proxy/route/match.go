package route

import "example.com/ferry/format"

// Request has the parts of a request that conditions look at: views of the client's bytes. A Bolt request has no Method, Path and
// Query; an HTTP request has nothing in Bolt.
type Request struct {
	Method []byte // of HTTP, as sent
	Host   []byte // with or without a port
	Path   []byte // as sent, without the query; "/" where an HTTP client sent none
	Query  []byte // without the question mark

	// Bolt has the service, method and class of a Bolt request; nil where the request has none.
	Bolt struct{ Service, Method, Class []byte }

	// Header has the header fields; nil if there are none.
	Header Values
}

// Values is the header of a request. Each protocol has its own implementation.
type Values interface {
	// Get returns the first value of that name, nil if there is none. An empty value is not nil.
	Get(name string) []byte
}

// Result is the result of a search.
type Result uint8

// The results.
const (
	NotFound    Result = iota // no route matches
	Found                     // the route is returned
	NeedPayload               // more of the payload decides: call Continue
)

// Matcher finds routes in a table, for one request at a time. It stops allocating once its buffers for payload fields have grown.
// It must not be used by two goroutines at once.
type Matcher struct {
	table              *Table
	host               *virtualHost    // of the search under way; nil if there is none
	indexed, unindexed []uint32        // candidate routes not tried yet
	searches           []runningSearch // parallel to Table.searches
	searching          bool
	reachable          []bool
	key                [maxHost]byte
}

// NewMatcher makes a Matcher. A request that waits for more payload needs a Matcher of its own until it has a route; a driver of
// many connections keeps a free list. A Matcher keeps at most MaxPayload bytes for each field that payload conditions name.
func (t *Table) NewMatcher() *Matcher {
	m := &Matcher{table: t, searches: make([]runningSearch, len(t.searches)), reachable: make([]bool, 2+t.maxTests)}
	for i, s := range t.searches {
		m.searches[i].Search = s.format.NewSearch(s.path, format.SearchOptions{MaxValue: MaxPayload})
	}
	return m
}

// Match starts a search for the route of r and forgets the search before it, whether that one ended or not. payload is the part
// of the payload of r that has arrived, from the first byte on; whole says that no more follows. NeedPayload means that Continue
// decides when more has arrived. With whole set, or with MaxPayload bytes, the result is never NeedPayload.
func (m *Matcher) Match(r *Request, payload []byte, whole bool) (*Route, Result) {
	m.Reset()
	if m.host = m.table.hosts.find(r.Host, m.key[:]); m.host == nil {
		return nil, NotFound
	}
	m.indexed, m.unindexed = m.host.index.candidates(r), m.host.index.unindexed
	return m.Continue(r, payload, whole)
}

// Continue continues the search that Match started, after NeedPayload, for the same request with more of its payload. Routes
// that were ruled out are not tried again. Without a search to continue it returns None.
func (m *Matcher) Continue(r *Request, payload []byte, whole bool) (*Route, Result) {
	if m.host == nil {
		return nil, NotFound
	}
	for {
		list := &m.indexed
		if len(m.indexed) == 0 || len(m.unindexed) > 0 && m.unindexed[0] < m.indexed[0] {
			list = &m.unindexed
		}
		if len(*list) == 0 {
			m.Reset()
			return nil, NotFound
		}
		route := m.host.routes[(*list)[0]]
		switch m.evaluate(&route.conditions, r, payload, whole) {
		case conditionHolds:
			m.Reset()
			return route, Found
		case conditionUndecided:
			return nil, NeedPayload
		}
		*list = (*list)[1:]
	}
}

// Reset forgets the search that Match started. The Matcher keeps nothing of the request.
func (m *Matcher) Reset() {
	m.host = nil
	if !m.searching {
		return
	}
	m.searching = false
	for i := range m.searches {
		s := m.searches[i].Search
		s.Reset()
		m.searches[i] = runningSearch{Search: s}
	}
}

// conditionResult says whether the conditions of a route hold for a request.
type conditionResult uint8

const (
	conditionFails conditionResult = iota
	conditionHolds
	conditionUndecided // until more of the payload has arrived
)

func (m *Matcher) evaluate(c *conditions, r *Request, payload []byte, whole bool) conditionResult {
	switch {
	case !c.allButPayloadHold(r):
		return conditionFails
	case c.payload == nil:
		return conditionHolds
	}
	return m.evaluatePayload(c.payload, payload, whole)
}
