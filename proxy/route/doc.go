// Package route finds the route of a request in a table of virtual hosts and routes. The table is compiled once.
//
// A Table holds no socket, no goroutine and no clock. A Request is a view of bytes that the caller has read, and
// times are parameters. Routes are tried in the order of the configuration, and the first route whose conditions all
// hold is used. An index over hosts, paths and Bolt services skips routes that cannot match. The index never changes
// the result. A payload condition is evaluated as soon as the bytes that it needs have arrived, without decoding the
// message. Rewrites, edits, redirects, retry budgets and rate limits are compiled together with the routes.
//
//	table, err := route.New(&config, all.Formats())
//	m := table.NewMatcher()                       // one for each request that waits for its payload, used again and again
//	r, result := m.Match(&request, body, whole)   // after NeedPayload: m.Continue with more of the body
//	if result == route.Found && r.Forwards() {
//		name := table.Clusters()[r.Pick(rand.Uint64())]
//	}
package route

// Files: the route of a request: match.go searches, index.go skips routes that cannot match, payload.go searches a payload
// as it arrives, payload_group.go finds the routes of many that its fields can match; compile.go and condition.go compile
// what config.go and config_forward.go declare; bucket.go limits rates, retry.go retries.
