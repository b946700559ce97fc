package route

import (
	"slices"
	"time"
)

// Attempt is the result of sending a request to an endpoint once.
type Attempt struct {
	Number     int   // 1 for the first attempt
	Cause      Cause // OnConnectFailure, OnReset, OnRefusedStream or OnTimeout; empty if there is a response
	Status     int   // HTTP status of the response
	GRPCStatus int   // gRPC status in the head of the response; 0 if there is none
	Sent       bool  // the endpoint may have processed part of the request
}

// retryCauses is the compiled form of Retry.On, Retry.Statuses and Retry.GRPCStatuses.
type retryCauses struct {
	failures     []Cause
	statuses     [10]uint64 // bit n%64 of word n/64 is set if status n is retried
	grpcStatuses uint32     // bit n is set if gRPC status n is retried
}

func (c *retryCauses) has(a Attempt) bool {
	if a.Cause != "" {
		return slices.Contains(c.failures, a.Cause)
	}
	return a.Status > 0 && a.Status < 600 && c.statuses[a.Status/64]>>(a.Status%64)&1 == 1 ||
		a.GRPCStatus > 0 && a.GRPCStatus <= maxGRPCStatus && c.grpcStatuses>>a.GRPCStatus&1 == 1
}

func (c *retryCauses) add(status int) { c.statuses[status/64] |= 1 << (status % 64) }

// Retries reports whether a failed attempt is retried. If so, it removes a retry from the Budget. The caller must
// have checked that the whole request can be sent again. idempotent is that of its method; Bolt has none. now is passed to Budget.Retry.
func (r *Route) Retries(idempotent bool, a Attempt, now time.Duration) bool {
	c := r.Forward.Retry
	return c != nil && a.Number < c.Attempts && r.retryOn.has(a) &&
		(!a.Sent || c.Idempotent || idempotent) && r.Budget.Retry(now)
}

// Idempotent reports whether a method is idempotent, which means that a request may be sent twice. RFC 9110, section 9.2.2.
func Idempotent(method []byte) bool {
	switch string(method) {
	case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE":
		return true
	}
	return false
}
