package godriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
	"example.com/ferry/protocol/native/conformance"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/stream"
)

// service is what the driver serves until stop is called.
type service struct {
	stop  context.CancelFunc
	ended chan error // of capacity 1: the result of rpc.Serve
}

// serve offers a service and waits for the node's RESULT.
func (d *driver) serve(i *conformance.Instruction) error {
	srv := rpc.NewServer(&rpc.ServerConfig{Log: d.log})
	rpc.Handle(srv, i.Service+".Say", func(_ context.Context, in *json.RawMessage) (*json.RawMessage, error) { return in, nil })
	rpc.Handle(srv, i.Service+".Fail", func(context.Context, *json.RawMessage) (*json.RawMessage, error) {
		return nil, call.Errorf(call.NotFound, "no k")
	})
	rpc.Handle(srv, i.Service+".Wait", func(ctx context.Context, _ *json.RawMessage) (*json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	rpc.HandleBidi(srv, i.Service+".Repeat", repeat)
	ctx, stop := context.WithCancel(d.ctx)
	s := &service{stop: stop, ended: make(chan error, 1)}
	offered := &offered{Client: d.client, results: make(chan struct{}, 1)}
	d.tasks.Go(func() { s.ended <- rpc.Serve(ctx, offered, srv) })
	select {
	case <-offered.results:
		d.served[i.Service] = s
		return nil
	case err := <-s.ended:
		stop()
		return err
	}
}

// repeat sends each request back.
func repeat(_ context.Context, in *rpc.Receiver[json.RawMessage], out *rpc.Sender[json.RawMessage]) error {
	for {
		m, err := in.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := out.Send(m); err != nil {
			return err
		}
	}
}

func (d *driver) withdraw(i *conformance.Instruction) error {
	s := d.served[i.Service]
	if s == nil {
		return fmt.Errorf("service %q is not served", i.Service)
	}
	s.stop()
	return <-s.ended
}

// offered is a client that tells when the node has accepted an offer.
type offered struct {
	*stream.Client
	results chan struct{} // of capacity 1
}

// ServeCalls is that of the client.
func (o *offered) ServeCalls(calls peer.Calls) (detach func(), err error) {
	return o.Client.ServeCalls(offeredCalls{calls, o})
}

type offeredCalls struct {
	peer.Calls
	offered *offered
}

// Connected begins the calls of a connection.
func (c offeredCalls) Connected(p *peer.Conn, w native.WelcomeFrame) peer.CallSession {
	return &offeredSession{c.Calls.Connected(p, w), c.offered}
}

type offeredSession struct {
	peer.CallSession
	offered *offered
}

// Result passes the RESULT of an offer on.
func (s *offeredSession) Result(v native.ResultFrame) {
	s.CallSession.Result(v)
	if v.Code == native.CodeOK && v.Value != native.Withdrawn {
		select {
		case s.offered.results <- struct{}{}:
		default:
		}
	}
}
