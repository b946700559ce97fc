// Package routeset describes sets of routes, and requests that match one of them each. Package routeproxy configures proxies with a set, and
// package keepalive sends the requests and checks which route each response comes from.
//
//	s := routeset.Set{Kind: routeset.HostPrefix, Count: 1000}
//	i := s.Of(17) // the route of request 17
//	fmt.Println(s.Name(i), s.Host(i), s.Prefix(i))
package routeset
