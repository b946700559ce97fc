package routeset

import "fmt"

// Kind says by what a request's route is chosen.
type Kind string

// The kinds.
const (
	HostPrefix Kind = "host + prefix" // PerHost prefixes on each host
	Header     Kind = "header"        // one host; each route has a value of the field HeaderName
)

const (
	// PerHost is the number of routes of a host in a set of HostPrefix.
	PerHost = 10

	// HeaderName is the field that the routes of a set of Header match.
	HeaderName = "X-Tenant"

	// RouteHeader is the field that each route sets in the request to its Name. The backend returns its value.
	RouteHeader = "X-Route"
)

// Set is a set of routes.
type Set struct {
	Kind  Kind
	Count int // number of routes

	// Version, if not 0, changes the prefix of the last route of a set of HostPrefix. Of never returns that route.
	Version int
}

// Name returns the name of route i.
func (s Set) Name(i int) string { return fmt.Sprint("route-", i) }

// Host returns the host of route i.
func (s Set) Host(i int) string {
	if s.Kind == Header {
		return "api.example.com"
	}
	return fmt.Sprintf("shop-%d.example.com", i/PerHost)
}

// Prefix returns the prefix of the paths of route i. It ends with a slash.
func (s Set) Prefix(i int) string {
	switch {
	case s.Kind == Header:
		return "/"
	case s.Version != 0 && i == s.Count-1:
		return fmt.Sprintf("/version-%d/", s.Version)
	}
	return fmt.Sprintf("/service-%d/", i%PerHost)
}

// HeaderValue returns the value of HeaderName that route i matches; empty if it matches no field.
func (s Set) HeaderValue(i int) string {
	if s.Kind == Header {
		return fmt.Sprint("tenant-", i)
	}
	return ""
}

// Hosts returns the routes of each host: the first one, and the one behind the last.
func (s Set) Hosts() (ranges [][2]int) {
	per := PerHost
	if s.Kind == Header {
		per = s.Count
	}
	for i := 0; i < s.Count; i += per {
		ranges = append(ranges, [2]int{i, min(i+per, s.Count)})
	}
	return ranges
}

// Of returns the route of a request: 1 has the first route, 2 the one in the middle, 3 the last. The others take all routes in turn, in a
// scattered order.
func (s Set) Of(request uint64) int {
	n := uint64(s.Count)
	if s.Version != 0 {
		n--
	}
	switch request {
	case 1:
		return 0
	case 2:
		return int(n / 2)
	case 3:
		return int(n - 1)
	}
	return int(request * 7919 % n) // a prime that divides no Count in use
}
