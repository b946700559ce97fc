// Package discovery finds the endpoints of a service and follows their changes: listed addresses, names in DNS, SRV records and
// files. The proxy's clusters and the clients of rpc use it.
//
// A Source knows some endpoints and blocks until they change. A Service follows several sources, each on a goroutine, and
// merges what they find. When a source fails, its last endpoints stay valid.
//
//	src, err := discovery.Address("api.example:80", 1, nil)
//	s := discovery.New(&discovery.Config{Sources: []discovery.Source{src, discovery.SRV("_http._tcp.example.com", nil), discovery.File("endpoints.txt")}})
//	s.Find(ctx)                      // once, before the first request
//	go s.Run(ctx, func() { use(s.Endpoints()) }) // after each change
package discovery

// Files: who the endpoints of a service are: source.go is the contract, address.go, dns.go (names and SRV records) and
// file.go (which list.go parses) are the sources, polled.go says when they look again; ttl.go observes TTLs, which the
// standard library hides; service.go merges sources.
