package balance

import (
	"hash/maphash"
	"net/netip"
)

// Outcome is the result of sending a request to an endpoint once. Its owner is who has caused it, and decides whether it can eject the
// endpoint:
//
//	outcome         what happened                                              owner     ejects
//	Success         a response without an error                                -         never; its latency is counted
//	ConnectFailure  refused, unreachable, no connection in time                endpoint  Outlier.Failures in a row
//	Unavailable     a lost shared connection, UNAVAILABLE, DATA_LOSS,          endpoint  Outlier.Failures in a row
//	                a drain that timed out
//	Failure         502, 503, 504, UNKNOWN, INTERNAL                           handler   if nearly all calls fail
//	Reset           reset after the request was sent                           handler   if nearly all calls fail
//	Timeout         the time limit of the route or client, not the caller's    handler   if nearly all calls fail
//	Rejected        a response that is an error about the request: too large,  caller    never
//	                quota, unknown method, the caller's deadline
//	Canceled        the caller left, or only its own connection was lost       caller    never; says nothing
//	LocalFailure    this machine lacked a resource to connect                  caller    never; says nothing
//
// Nearly all calls fail if mostlyFails says so. No outcome but Success changes the latency of an endpoint, because a quick error must not
// make it look fast, nor a caller's deadline make it look slow.
type Outcome uint8

// The outcomes.
const (
	Success Outcome = iota
	Failure
	ConnectFailure
	Reset
	Timeout
	Canceled
	LocalFailure
	Unavailable
	Rejected

	Outcomes = iota // number of outcomes
)

// owner is who has caused an outcome.
type owner uint8

const (
	ofCaller   owner = iota // never ejects
	ofEndpoint              // counts in Outlier.Failures
	ofHandler               // ejects by the ratio of failures
)

var outcomes = [Outcomes]struct {
	label  string
	owner  owner
	silent bool // says nothing about the endpoint, not even that it responds
}{
	Success:        {label: "success"},
	Failure:        {label: "failure", owner: ofHandler},
	ConnectFailure: {label: "connect_failure", owner: ofEndpoint},
	Reset:          {label: "reset", owner: ofHandler},
	Timeout:        {label: "timeout", owner: ofHandler},
	Canceled:       {label: "canceled", silent: true},
	LocalFailure:   {label: "local_failure", silent: true},
	Unavailable:    {label: "unavailable", owner: ofEndpoint},
	Rejected:       {label: "rejected"},
}

// String returns the value of the metrics label outcome.
func (o Outcome) String() string { return outcomes[o].label }

// Fault reports whether the endpoint or its handler has caused o. Success and the caller's own errors are none.
func (o Outcome) Fault() bool { return outcomes[o].owner != ofCaller }

// OfCode returns the outcome of a response with a status code of gRPC (google.rpc.Code). Codes that gRPC does not know count as UNKNOWN.
// A caller that knows more than the code says it instead: a connection that ended, a time limit of its own.
func OfCode(code uint32) Outcome {
	switch code {
	case 0: // OK
		return Success
	case 1: // CANCELLED
		return Canceled
	case 14, 15: // UNAVAILABLE, DATA_LOSS
		return Unavailable
	case 2, 13: // UNKNOWN, INTERNAL
		return Failure
	}
	if code > 16 {
		return Failure
	}
	return Rejected
}

// OfStatus returns the outcome of a response with a status of HTTP. failures are further statuses that count as failures of the handler,
// beside 502, 503 and 504; the others from 500 do not, as many handlers respond so to a request that they do not understand.
func OfStatus(status int, failures []int) Outcome {
	switch status {
	case 502, 503, 504:
		return Failure
	}
	for _, s := range failures {
		if s == status {
			return Failure
		}
	}
	if status >= 400 {
		return Rejected
	}
	return Success
}

// Caller tells the callers of requests apart, so that one caller alone cannot have an endpoint ejected by errors of its handler.
type Caller uint64

// OwnRequest is the Caller of a program whose requests are its own. It needs no second caller, because an ejection concerns its requests only.
const OwnRequest Caller = 0

var callers = maphash.MakeSeed()

// CallerAt returns the Caller at an address. An IPv6 address counts as its network of 64 bits.
func CallerAt(addr netip.Addr) Caller {
	if addr = addr.Unmap(); addr.Is6() {
		network, _ := addr.Prefix(64) // a valid length
		addr = network.Addr()
	}
	return max(Caller(maphash.Comparable(callers, addr)), OwnRequest+1)
}
