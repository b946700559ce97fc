package route

import "example.com/ferry/format"

// Request is what a table is asked about: views of what a client has sent. One of Bolt has no Method, Path and Query; one
// of HTTP has nothing in Bolt.
type Request struct {
	Method []byte // of HTTP, as sent
	Host   []byte // with or without a port
	Path   []byte // as sent, without the query; "/" where a client of HTTP sent none
	Query  []byte // without the question mark

	// Bolt is what a request of Bolt calls, nil where it does not say.
	Bolt struct{ Service, Method, Class []byte }

	// Header has the header fields; nil if there are none.
	Header Values
}

// Values is the header of a request. It is an interface as each protocol keeps its own.
type Values interface {
	// Get returns the first value of that name, nil if there is none. A value that is empty is not nil.
	Get(name string) []byte
}

// Answer is what a Matcher knows.
type Answer uint8

// The answers of a Matcher.
const (
	None        Answer = iota // no route takes the request
	Found                     // a route does
	NeedPayload               // more of the payload has to be seen
)

// Matcher finds routes in a table, for one request at a time. It allocates nothing once what it keeps of payloads has grown.
// It must not be used by two goroutines at once.
type Matcher struct {
	table       *Table
	host        *virtualHost // of the search under way; nil if there is none
	first, rest []uint32     // candidates not tried yet
	searches    []search     // as Table.seeks
	searching   bool
	reached     []bool
	key         [maxHost]byte
}

// NewMatcher makes a Matcher. A request that waits for its payload needs one of its own until it has its route; whoever
// reads many connections keeps those that are free. For each field that payload
// conditions name it keeps at most MaxPayload bytes.
func (t *Table) NewMatcher() *Matcher {
	m := &Matcher{table: t, searches: make([]search, len(t.seeks)), reached: make([]bool, 2+t.tests)}
	for i, s := range t.seeks {
		m.searches[i].Search = s.format.Seek(s.path, format.SeekOptions{MaxValue: MaxPayload})
	}
	return m
}

// Match starts a search for the route of r and forgets the search before it, whether that one ended or not. payload is what
// has arrived of the payload of r, from the first byte on; whole says that no more follows. NeedPayload means that Continue
// decides when more has arrived. With whole set, or with MaxPayload bytes, the result is never NeedPayload.
func (m *Matcher) Match(r *Request, payload []byte, whole bool) (*Route, Answer) {
	m.Reset()
	if m.host = m.table.hosts.find(r.Host, m.key[:]); m.host == nil {
		return nil, None
	}
	m.first, m.rest = m.host.index.candidates(r), m.host.index.rest
	return m.Continue(r, payload, whole)
}

// Continue continues the search that Match started, after NeedPayload, for the same request with more of its payload. Routes
// that were ruled out are not tried again. Without a search to continue it returns None.
func (m *Matcher) Continue(r *Request, payload []byte, whole bool) (*Route, Answer) {
	if m.host == nil {
		return nil, None
	}
	for {
		list := &m.first
		if len(m.first) == 0 || len(m.rest) > 0 && m.rest[0] < m.first[0] {
			list = &m.rest
		}
		if len(*list) == 0 {
			m.Reset()
			return nil, None
		}
		route := m.host.routes[(*list)[0]]
		switch m.try(&route.conditions, r, payload, whole) {
		case matches:
			m.Reset()
			return route, Found
		case open:
			return nil, NeedPayload
		}
		*list = (*list)[1:]
	}
}

// Reset forgets the search that Match started. The Matcher no longer refers to the table's routes or the request.
func (m *Matcher) Reset() {
	m.host = nil
	if !m.searching {
		return
	}
	m.searching = false
	for i := range m.searches {
		s := m.searches[i].Search
		s.Reset()
		m.searches[i] = search{Search: s}
	}
}

// verdict is what is known of a route and a request.
type verdict uint8

const (
	differs verdict = iota
	matches
	open // for more of the payload
)

func (m *Matcher) try(c *conditions, r *Request, payload []byte, whole bool) verdict {
	switch {
	case !c.hold(r):
		return differs
	case c.payload == nil:
		return matches
	}
	return m.asks(c.payload, payload, whole)
}
