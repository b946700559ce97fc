// Package routeproxy starts HTTP proxies with a routeset.Set, ferry and its peers, and replaces the set while they run.
//
// Each route sets a field with its name in the request, and forwards it to the same server; all other requests get status 404. The proxies
// are configured as their documentation recommends for many routes: nginx by server_name and location, or by a map of a header field, HAProxy by
// a map file, Envoy by virtual hosts, or by a matcher tree of a header field. HAProxy has a second configuration with a rule for each route.
// Linux only.
//
//	proxies, notes := routeproxy.All(binary)
//	p, err := proxies[0].Start(setup, routeset.Set{Kind: routeset.Header, Count: 1000})
//	...
//	err = p.Replace(routeset.Set{Kind: routeset.Header, Count: 2000})
package routeproxy
