package traffic

// Refusal is the reason why a request is not forwarded. The zero value means that it is forwarded.
type Refusal uint8

// The reasons.
const (
	Forwarded   Refusal = iota
	BadRequest          // the request is malformed, ambiguous or above a limit
	NoRoute             // no route matches
	RateLimited         // the route's rate limit is reached
	NoEndpoint          // no endpoint of the cluster is up
	Overload            // a limit of the cluster or of the listener is reached
	refusals
)

// String returns the value of the metrics label reason.
func (r Refusal) String() string {
	return [refusals]string{"forwarded", "bad_request", "no_route", "rate_limited", "no_endpoint", "overload"}[r]
}
