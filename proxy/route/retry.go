package route

import (
	"slices"
	"time"
)

// Attempt is how sending a request to a cluster has ended.
type Attempt struct {
	Number int   // 1 for the first
	Cause  Cause // OnConnectFailure, OnReset or OnTimeout; empty if a response came
	Status int   // of that response
	Sent   bool  // the server may have seen some of the request
}

// causes is a compiled Retry.On and Retry.Statuses.
type causes struct {
	failures []Cause
	statuses [10]uint64 // bit n%64 of word n/64: status n
}

func (c *causes) has(a Attempt) bool {
	if a.Cause != "" {
		return slices.Contains(c.failures, a.Cause)
	}
	return a.Status > 0 && a.Status < 600 && c.statuses[a.Status/64]>>(a.Status%64)&1 == 1
}

func (c *causes) add(status int) { c.statuses[status/64] |= 1 << (status % 64) }

// Retries reports whether a failed attempt is to be repeated, and takes it out of the Budget if so: ask it last, and only
// if the request can be sent again as a whole. method is the request's, nil in Bolt. now is as Budget takes it.
func (r *Route) Retries(method []byte, a Attempt, now time.Duration) bool {
	c := r.Forward.Retry
	return c != nil && a.Number < c.Attempts && r.causes.has(a) &&
		(!a.Sent || c.Idempotent || idempotent(method)) && r.Budget.Retry(now)
}

// idempotent reports whether sending a request of the method twice is as good as once. RFC 9110, section 9.2.2.
func idempotent(method []byte) bool {
	switch string(method) {
	case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE":
		return true
	}
	return false
}
