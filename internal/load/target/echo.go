package target

import (
	"context"
	"errors"

	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/load"
	"example.com/ferry/internal/load/echo"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
)

// Echo is a server of package echo. Unlike RPC, a request is what a program does for a call: it encodes the message, and decodes and
// verifies the response. The workers share Client.
type Echo struct {
	Client *rpc.Client
	Echo   echo.Echo
}

// Connect connects a worker.
func (t *Echo) Connect(context.Context, int) (load.Client, error) {
	return echoClient{t.Echo.Caller(t.Client)}, nil
}

type echoClient struct {
	say func(context.Context) error
}

// Close leaves the connections to the Client's owner.
func (echoClient) Close() {}

// Do makes a call.
func (c echoClient) Do(ctx context.Context) error {
	err := c.say(ctx)
	var s *call.Status
	switch {
	case err == nil:
		return nil
	case errors.As(err, &s):
		return callFailed(s, err)
	}
	return unexpected("wrong response", balance.Failure, err)
}
