package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
)

const (
	apiTimeout  = 3 * time.Second  // of one request to JetStream
	apiPatience = 30 * time.Second // of all attempts of a request
)

// api sends a request to JetStream and decodes its response, or the error in it. out may be nil.
func (e *Engine) api(ctx context.Context, subject string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	m, err := e.read.RequestWithContext(ctx, subject, body)
	if err != nil {
		return err
	}
	var failed struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &failed); err != nil {
		return fmt.Errorf("engine: response to %s: %w", subject, err)
	}
	if failed.Error != nil {
		return failed.Error
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(m.Data, out)
}

// request calls f until it succeeds, fails for good, or ctx or apiPatience ends. JetStream refuses requests for moments: after a
// server has gone a new leader must be elected.
func request[T any](ctx context.Context, e *Engine, f func(context.Context) (T, error)) (T, error) {
	end := time.Now().Add(apiPatience)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		attempt, cancel := context.WithTimeout(ctx, apiTimeout)
		v, err := f(attempt)
		cancel()
		if err == nil || !transient(err) || time.Now().After(end) {
			return v, err
		}
		select {
		case <-time.After(wait):
		case <-e.closing:
			return v, engine.ErrClosed
		case <-ctx.Done():
			return v, errors.Join(ctx.Err(), err)
		}
	}
}

// transient reports whether a later attempt may succeed.
func transient(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return transientCode(api.Code, api.ErrorCode)
	}
	for _, t := range []error{
		context.DeadlineExceeded, natsgo.ErrTimeout, natsgo.ErrNoResponders, natsgo.ErrDisconnected, natsgo.ErrReconnectBufExceeded,
		natsgo.ErrConnectionReconnecting, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

func transientCode(code int, c jetstream.ErrorCode) bool {
	switch c {
	case 10006, 10007, 10009, // not the leader, or no leader yet
		10118, 10194, // stream is offline
		10158: // the same message ID is being stored
		return true
	case 10035, 10039: // no such account, or one without JetStream
		return false
	}
	return code == 503 || code == 429
}
