package exchange

import (
	"example.com/ferry/protocol/http1"
	"example.com/ferry/protocol/httprule"
)

// setPath sets the path in Routing, which has the query. It returns why the request is refused, or an empty string. The readings are valid until Forward
// returns.
func (r *Relay) setPath(path []byte) (problem string) {
	to := &r.Routing
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
