package exchange

import (
	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// Match searches the route of the request that Routing describes. path is the path of the request, without the query. bodyless means that no body
// follows. After NeedPayload, the downstream side calls MatchPayload; once more of the body has come, and its views have moved, it may call Match again.
func (r *Relay) Match(path []byte, bodyless bool) route.Result {
	r.TLS.SetRequest(&r.Routing)
	if r.setPath(path) != "" {
		return route.Ambiguous
	}
	if r.matcher != nil {
		return route.NeedPayload
	}
	r.matcher = r.Matchers.Get(r.Plan.Table)
	return r.matched(r.matcher.Match(&r.Routing, nil, bodyless))
}

// MatchPayload continues a search that needs the content of the body. whole means that content is the entire body.
func (r *Relay) MatchPayload(content []byte, whole bool) route.Result {
	return r.matched(r.matcher.Continue(&r.Routing, content, whole))
}

func (r *Relay) matched(found *route.Route, result route.Result) route.Result {
	r.found = found
	if result != route.NeedPayload {
		r.Matchers.Put(r.matcher)
		r.matcher = nil
	}
	return result
}

// Matching reports whether the search for the route waits for more of the body.
func (r *Relay) Matching() bool { return r.matcher != nil }

// Decide admits a request to the route that Match has found; result is that of the search, and h the head of the request. It reports whether the
// request is forwarded. Otherwise, the downstream side calls Respond.
func (r *Relay) Decide(h RequestHead, result route.Result) (forward bool) {
	if result == route.Ambiguous {
		r.Refuse(traffic.BadRequest)
		r.rejected = BadPath
		return false
	}
	if why := r.Admit(r.found); why != traffic.Forwarded {
		r.rejected = rejectionFor(why)
		return false
	}
	switch {
	case r.found.Redirect != nil && len(r.Routing.Host) == 0 && r.found.Redirect.TakesHost():
		r.Refuse(traffic.BadRequest) // a client of HTTP/1.0 has named no host, and https:///path is none
		r.rejected = BadPath
		return false
	case r.found.Redirect != nil:
		location := string(r.found.AppendLocation(nil, &r.Routing))
		r.own = &route.Response{Status: r.found.Redirect.Status, Headers: []http1.Pair{{Name: "Location", Value: location}}}
	case r.found.Respond != nil:
		r.own = r.found.Respond
	default:
		if ends, status, fields := r.Changes.SetMaxForwards(h); ends {
			r.own = &route.Response{Status: status, Headers: fields}
		}
	}
	return r.own == nil
}

// Respond has the downstream side send the response that Decide has chosen: Downstream.Respond or Downstream.Reject.
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
	r.Routing, r.found, r.own, r.rejected = route.Request{}, nil, nil, 0
}
