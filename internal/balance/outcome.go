package balance

// Outcome is the result of sending a request to an endpoint once.
type Outcome uint8

// The outcomes.
const (
	Success        Outcome = iota
	Failure                // the response reports a failure of the server, such as 5xx
	ConnectFailure         // the connection could not be opened
	Reset                  // the connection ended before the response
	Timeout                // the response did not arrive in time
	Canceled               // the client left, which says nothing about the endpoint
	LocalFailure           // this machine lacked a resource to connect, which says nothing about the endpoint

	Outcomes = iota // number of outcomes
)

// String returns the value of the metrics label outcome.
func (o Outcome) String() string {
	return [Outcomes]string{"success", "failure", "connect_failure", "reset", "timeout", "canceled", "local_failure"}[o]
}
