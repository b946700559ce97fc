package route

import (
	"slices"
	"time"
)

// Attempt is the result of one attempt to send a request to an endpoint.
type Attempt struct {
	Number int   // 1 for the first
	Cause  Cause // OnConnectFailure, OnReset or OnTimeout; empty if a response came
	Status int   // of that response
	Sent   bool  // the endpoint may have received part of the request
}

// retryCauses is a compiled Retry.On and Retry.Statuses.
type retryCauses struct {
	failures []Cause
	statuses [10]uint64 // a bit set: bit n%64 of word n/64 is status n
}

func (c *retryCauses) has(a Attempt) bool {
	if a.Cause != "" {
		return slices.Contains(c.failures, a.Cause)
	}
	return a.Status > 0 && a.Status < 600 && c.statuses[a.Status/64]>>(a.Status%64)&1 == 1
}

func (c *retryCauses) add(status int) { c.statuses[status/64] |= 1 << (status % 64) }

// Retries reports whether a failed attempt is repeated, and takes a retry from the Budget if so. The caller has checked that the
// request can be sent again as a whole. method is nil for Bolt. now is the time for Budget.Retry.
func (r *Route) Retries(method []byte, a Attempt, now time.Duration) bool {
	c := r.Forward.Retry
	return c != nil && a.Number < c.Attempts && r.retryOn.has(a) &&
		(!a.Sent || c.Idempotent || idempotent(method)) && r.Budget.Retry(now)
}

// idempotent reports whether a method is idempotent. RFC 9110, section 9.2.2.
func idempotent(method []byte) bool {
	switch string(method) {
	case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE":
		return true
	}
	return false
}
