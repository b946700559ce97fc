package upstream

import "example.com/ferry/internal/balance"

// Outcome is the result of sending a request to an endpoint once. The table of balance.Outcome says what each of them does to the endpoint.
type Outcome = balance.Outcome

// The outcomes.
const (
	Success        = balance.Success
	Failure        = balance.Failure        // the response reports a failure of the server
	ConnectFailure = balance.ConnectFailure // the connection could not be opened
	Reset          = balance.Reset          // the connection or the stream ended before the response
	Timeout        = balance.Timeout        // the response did not arrive in time
	Canceled       = balance.Canceled       // the client left, which says nothing about the endpoint
	LocalFailure   = balance.LocalFailure   // this machine lacked a resource to connect, which says nothing about the endpoint
	Unavailable    = balance.Unavailable    // a connection that requests shared was lost, or the server says that it is unavailable
	Rejected       = balance.Rejected       // the response is an error about the request

	Outcomes = balance.Outcomes // number of outcomes
)

// OfStatus returns the outcome of a response with a status of HTTP.
func (c *Cluster) OfStatus(status int) Outcome {
	if status < 400 {
		return Success
	}
	var failures []int
	if c.cfg.Outlier != nil {
		failures = c.cfg.Outlier.Statuses
	}
	return balance.OfStatus(status, failures)
}

// OfCode returns the outcome of a response with a gRPC status.
func OfCode(status int) Outcome { return balance.OfCode(uint32(status)) }
