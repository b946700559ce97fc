package route

import (
	"slices"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Request has the parts of a request that conditions use. They are views of the client's bytes. A Bolt request has no
// Method, Path and Query. An HTTP request has an empty Bolt.
type Request struct {
	Method []byte // HTTP method, as sent
	Host   []byte // with or without a port
	Path   []byte // first reading of httprule.Paths, without the query; "/" if the client sent an empty path
	Second []byte // second reading of httprule.Paths; nil if it is the same
	Query  []byte // without the question mark

	// Bolt has the service, method and class of a Bolt request. A missing part is nil.
	Bolt struct{ Service, Method, Class []byte }

	// ServerName and ClientIdentity are of the client's TLS handshake, empty without one. ServerName is in lower case.
	ServerName, ClientIdentity string

	// Header has the header fields of the request; nil if it has none.
	Header Values
}

// Values is the header of a request. Each protocol has its own implementation.
type Values interface {
	// Nth returns the value of the n-th field called name, counted from 0, or nil if there are fewer. An empty value is not nil.
	Nth(name string, n int) []byte
}

// Result is the result of Match and Continue.
type Result uint8

// The results.
const (
	NotFound    Result = iota // no route matches
	Found                     // the returned route matches
	NeedPayload               // more of the payload is needed: call Continue
	Ambiguous                 // a route matches one reading of the path, or one of several equal names, and not the others: the request is refused
)

// Matcher finds routes in a table, for one request at a time. It stops allocating memory once its buffers for payload
// fields are large enough. Two goroutines must not use it at the same time.
type Matcher struct {
	table      *Table
	host       *virtualHost    // virtual host of the current search; nil if there is none
	lists      [][]uint32      // candidate routes outside of payload groups that are not tried yet
	groups     []runningGroup  // of the candidates
	searches   []runningSearch // one for each element of Table.searches
	searching  bool
	reachable  []bool
	evaluation field.Evaluation // of the index of a group
	fields     groupFields      // for evaluation
	key        [maxHost]byte
}

// NewMatcher creates a Matcher. A request that waits for more payload needs a Matcher of its own until its route is
// found; Matchers is a free list of them. A Matcher holds at most MaxPayload bytes for each
// field that payload conditions name.
func (t *Table) NewMatcher() *Matcher {
	m := &Matcher{table: t, searches: make([]runningSearch, len(t.searches)), reachable: make([]bool, 2+t.maxTests)}
	for i, s := range t.searches {
		m.searches[i].Search = s.format.NewSearch(s.path, format.SearchOptions{MaxValue: MaxPayload})
	}
	return m
}

// Match starts a search for the route of r. It abandons an earlier search that has not ended. payload is the received
// part of r's payload from the first byte; whole means that payload is complete. NeedPayload means that the caller
// must call Continue when more payload has arrived. If whole is true or payload has MaxPayload bytes, the result is
// never NeedPayload.
func (m *Matcher) Match(r *Request, payload []byte, whole bool) (*Route, Result) {
	m.Reset()
	if m.host = m.table.hosts.find(r.Host, m.key[:]); m.host == nil {
		return nil, NotFound
	}
	indexed := m.host.index.candidates(r, r.Path)
	if indexed != nil {
		m.add(indexed, r)
	}
	if r.Second != nil {
		if second := m.host.index.candidates(r, r.Second); second != nil && second != indexed {
			m.add(second, r)
		}
	}
	m.add(&m.host.index.unindexed, r)
	return m.Continue(r, payload, whole)
}

// add adds candidates for r.
func (m *Matcher) add(c *candidates, r *Request) {
	if len(c.routes) > 0 {
		m.lists = append(m.lists, c.routes)
	}
	if r.Header != nil {
		for _, g := range c.headers {
			for n := 0; ; n++ {
				value := r.Header.Nth(g.name, n)
				if value == nil {
					break
				}
				if list := g.routes[string(value)]; len(list) > 0 && !m.has(list) {
					m.lists = append(m.lists, list)
				}
			}
		}
	}
	m.addGroups(c.groups)
}

// has reports whether a list is one of the candidates.
func (m *Matcher) has(list []uint32) bool {
	return slices.ContainsFunc(m.lists, func(l []uint32) bool { return &l[0] == &list[0] })
}

// Continue continues the search of Match after NeedPayload. r is the same request, and payload has more bytes. Routes
// that are already ruled out are not tried again. If there is no search to continue, the result is NotFound.
func (m *Matcher) Continue(r *Request, payload []byte, whole bool) (*Route, Result) {
	if m.host == nil {
		return nil, NotFound
	}
	for {
		n, list, group := m.next()
		switch {
		case list == nil && group == nil:
			m.Reset()
			return nil, NotFound
		case group != nil && !group.settled && group.tried >= headStart && m.settle(group, payload, whole):
			continue // it begins with another route now
		}
		route := m.host.routes[n]
		var holds conditionResult
		if group != nil && group.settled && group.exact {
			holds = route.conditions.besidesPayload(r)
		} else {
			holds = m.evaluate(&route.conditions, r, payload, whole)
		}
		switch holds {
		case conditionHolds:
			m.Reset()
			return route, Found
		case conditionUndecided:
			return nil, NeedPayload
		case conditionAmbiguous:
			m.Reset()
			return nil, Ambiguous
		}
		if group != nil {
			group.skip()
		} else {
			*list = (*list)[1:]
		}
	}
}

// next returns the first candidate that may match, and the list or the group that it is in. Both are nil if there is none.
func (m *Matcher) next() (n uint32, list *[]uint32, group *runningGroup) {
	for i := range m.lists {
		if l := m.lists[i]; len(l) > 0 && (list == nil || l[0] < n) {
			n, list = l[0], &m.lists[i]
		}
	}
	for i := range m.groups {
		if first, ok := m.groups[i].next(); ok && (list == nil && group == nil || first < n) {
			n, list, group = first, nil, &m.groups[i]
		}
	}
	return n, list, group
}

// addGroups begins to search in groups. It reuses the memory of earlier searches.
func (m *Matcher) addGroups(groups []*payloadGroup) {
	for _, g := range groups {
		if slices.ContainsFunc(m.groups, func(running runningGroup) bool { return running.group == g }) {
			continue // it has routes for both readings of the path
		}
		n := len(m.groups)
		if n == cap(m.groups) {
			m.groups = append(m.groups, runningGroup{})
		}
		m.groups = m.groups[:n+1]
		m.groups[n] = runningGroup{group: g, found: m.groups[n].found[:0]}
	}
}

// Reset abandons the current search. The Matcher then holds no reference to the request.
func (m *Matcher) Reset() {
	m.host = nil
	m.lists = m.lists[:0]
	m.groups = m.groups[:0]
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

// conditionResult is the result of evaluating the conditions of a route.
type conditionResult uint8

const (
	conditionFails conditionResult = iota
	conditionHolds
	conditionUndecided // more of the payload must arrive
	conditionAmbiguous // it holds for one reading of the request and not for another
)

// besidesPayload evaluates the conditions of a route whose payload condition holds.
func (c *conditions) besidesPayload(r *Request) conditionResult {
	return c.allButPayload(r)
}

func (m *Matcher) evaluate(c *conditions, r *Request, payload []byte, whole bool) conditionResult {
	holds := c.allButPayload(r)
	if holds == conditionFails || c.payload == nil {
		return holds
	}
	if ofPayload := m.evaluatePayload(c.payload, payload, whole); ofPayload != conditionHolds {
		return ofPayload
	}
	return holds
}
