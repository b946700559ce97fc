package exchange

import (
	"example.com/ferry/protocol/http1"
	"example.com/ferry/protocol/httprule"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// Outcome is what became of a request that Relay.Forward was given.
type Outcome uint8

// The outcomes.
const (
	Undecided Outcome = iota // the route depends on the body: the downstream side calls ForwardPayload
	Refused                  // the request is not forwarded: the downstream side calls Respond
	Forwarded                // the request goes to an Upstream
)

// Forward finds the route of a request, admits the request and begins its first attempt. h is the request's head; bodyless means that no body
// follows. The downstream side sends a request that is Forwarded to up. If up is nil, the request waits for a connection, and SendRequest follows.
func (r *Relay) Forward(h RequestHead, bodyless bool) (up Upstream, o Outcome) {
	r.head = h
	query, _ := h.Query()
	r.routing = route.Request{Method: h.Method(), Host: h.Authority(), Query: query, Header: h}
	r.TLS.SetRequest(&r.routing)
	if r.setPath(h.Path()) != "" {
		return r.refuse(BadPath)
	}
	if r.matcher != nil { // Forward is called again, as more of the body has come and its views have moved
		return nil, Undecided
	}
	r.matcher = r.Matchers.Get(r.Plan.Table)
	return r.matched(r.matcher.Match(&r.routing, nil, bodyless))
}

// ForwardPayload is called after Forward if the outcome was Undecided. content is what has come of the body; whole means that it is the entire body. If
// the outcome is Undecided again, Forward is called once more of the body has come.
func (r *Relay) ForwardPayload(content []byte, whole bool) (up Upstream, o Outcome) {
	return r.matched(r.matcher.Continue(&r.routing, content, whole))
}

// matched admits the request to the route that the search has found.
func (r *Relay) matched(found *route.Route, result route.Result) (up Upstream, o Outcome) {
	if result == route.NeedPayload {
		return nil, Undecided
	}
	r.Matchers.Put(r.matcher)
	r.matcher = nil
	if result == route.Ambiguous {
		return r.refuse(BadPath)
	}
	if why := r.Admit(found); why != traffic.Forwarded {
		return r.refused(rejectionFor(why))
	}
	switch {
	case found.Redirect != nil && len(r.routing.Host) == 0 && found.Redirect.TakesHost():
		return r.refuse(BadPath) // a client of HTTP/1.0 has named no host, and https:///path is none
	case found.Redirect != nil:
		location := string(found.AppendLocation(nil, &r.routing))
		r.own = &route.Response{Status: found.Redirect.Status, Headers: []http1.Pair{{Name: "Location", Value: location}}}
	case found.Respond != nil:
		r.own = found.Respond
	default:
		if ends, status, fields := r.Changes.SetMaxForwards(r.head); ends {
			r.own = &route.Response{Status: status, Headers: fields}
		}
	}
	if r.own != nil {
		return nil, Refused
	}
	return r.firstAttempt()
}

// refuse counts a request that is malformed, ambiguous or above a limit.
func (r *Relay) refuse(why Rejection) (up Upstream, o Outcome) {
	r.Refuse(traffic.BadRequest)
	return r.refused(why)
}

func (r *Relay) refused(why Rejection) (up Upstream, o Outcome) {
	r.rejected = why
	return nil, Refused
}

// Respond has the downstream side send the response to a request that is Refused: Downstream.Respond or Downstream.Reject.
func (r *Relay) Respond() {
	if r.own != nil {
		r.down.Respond(r.own.Status, r.own.Headers, r.own.Body)
		return
	}
	r.reject(r.rejected)
}

// releaseRouting forgets what the search for the route has found.
func (r *Relay) releaseRouting() {
	if r.matcher != nil {
		r.matcher.Reset()
		r.Matchers.Put(r.matcher)
		r.matcher = nil
	}
	r.head, r.routing, r.own, r.rejected = nil, route.Request{}, nil, 0
}

// setPath sets the path in routing, which has the query. It returns why the request is refused, or an empty string. The readings are valid until Forward
// returns.
func (r *Relay) setPath(path []byte) (problem string) {
	to := &r.routing
	if problem = httprule.CheckQuery(to.Query); problem != "" {
		return problem
	}
	if r.path, problem = r.paths.Read(path); problem != "" {
		return problem
	}
	to.Path, to.Second = r.path.First, nil
	if len(path) == 0 {
		to.Path = rootPath
	} else if !r.path.Same() {
		to.Second = r.path.Second
	}
	return ""
}

// addRouteChanges adds the route's changes to Changes. An empty path is routed as "/". ok is false if the route would lead the readings of the path to
// different places, or out of its own prefix. A path that is forwarded as it is has readings of its own: the server gets its dot segments.
func (r *Relay) addRouteChanges(path []byte) (ok bool) {
	c, f := &r.Changes, &r.Route.Forward
	c.Host, c.Fields = f.Rewrite.Host, r.Route.RequestEdits
	if len(path) == 0 {
		_, c.Prefix = r.Route.Rewrite(rootPath) // an empty path has no slash to strip
		return true
	}
	first := r.path.First
	if first == nil { // the caller has set no path
		first = path
	}
	c.Strip, c.Prefix = r.Route.Rewrite(first)
	sent := len(first) == len(path) && string(first) == string(path)
	rewritten := c.Strip > 0 || c.Prefix != ""
	switch {
	case !rewritten && sent:
		return true
	case !rewritten && r.AsIs:
		return r.path.KeptBy(path)
	case !rewritten:
		c.Strip, c.Prefix = len(path), string(first)
		return true
	}
	var memory [256]byte
	result := http1.AppendPath(memory[:0], first, c.Strip, c.Prefix)
	if httprule.HasDots(result) {
		return false
	}
	if !r.path.Same() {
		strip, with := r.Route.Rewrite(r.path.Second)
		var mine, other httprule.PathReader
		a, problem := mine.Read(result)
		b, problemToo := other.Read(http1.AppendPath(nil, r.path.Second, strip, with))
		if problem != "" || problemToo != "" || string(a.Second) != string(b.Second) {
			return false
		}
	}
	if !sent {
		c.Strip, c.Prefix = len(path), string(result)
	}
	return true
}
