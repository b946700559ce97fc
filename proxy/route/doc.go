// Package route decides where a request goes: a table of virtual hosts and routes, compiled once, asked for each request.
//
// A Table holds no socket, no goroutine and no clock: a Request is a view of bytes that somebody else has read, times are
// parameters. Routes are tried in the order they are written in, and the first whose conditions all hold is taken; an index
// over hosts, paths and Bolt services passes over those that cannot match and never changes which one is found. A condition
// on the payload is decided as soon as the bytes it needs have arrived, without decoding the message. What a route says
// beside its clusters (rewrites, edits, redirects, retries and their Budget, a rate limit's Bucket) is made ready at the
// same time.
//
//	table, err := route.New(&config, all.Formats())
//	m := table.NewMatcher()                       // one for each request that waits for its payload, used again and again
//	r, answer := m.Match(&request, body, whole)   // NeedPayload: call again with more of the body
//	if answer == route.Found && r.Forwards() {
//		name := table.Clusters()[r.Pick(rand.Uint64())]
//	}
package route
