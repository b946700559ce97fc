package load

import (
	"context"
	"errors"

	"example.com/ferry/internal/balance"
)

// Target is what requests are sent to.
type Target interface {
	// Connect returns a Client for one worker. Workers are numbered from 0. ctx bounds the attempt to connect.
	Connect(ctx context.Context, worker int) (Client, error)
}

// Client sends the requests of one worker.
type Client interface {
	// Do sends a request and waits until the response is complete and checked. It ends with an error when the target's timeout for a
	// request has passed. An error that is no *Failure counts as a request
	// without a response, of the kind "error". After an error, the next Do connects again if it has to.
	Do(ctx context.Context) error

	// Close ends the Client. It may be called more than once, and while Do runs, which then returns an error.
	Close()
}

// Failure is the error of a request.
type Failure struct {
	Kind     string          // what is counted, such as "status 503" or "timeout": one of few
	Received bool            // a response has arrived, and it is not the expected one
	Outcome  balance.Outcome // who has caused it, as the proxy and clients of rpc judge it; Success if that is not known
	Err      error
}

func (f *Failure) Error() string { return f.Kind + ": " + f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// failureOf returns err as a Failure.
func failureOf(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Kind: "error", Err: err}
}
