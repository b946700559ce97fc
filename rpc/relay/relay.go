package relay

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/held"
)

// pass makes the call of s over conn, with the head next, and finishes s when it has ended. If it returns an error, no server has begun the call
// and s is not finished, so that another conn may be tried.
func pass(ctx context.Context, s call.ServerStream, conn call.Conn, next *call.Head, account *held.Shared) error {
	out, err := conn.Open(ctx, next)
	if err != nil {
		return err
	}
	p := &passing{s: s, out: out, account: account}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for p.request() {
		}
	}()
	status := p.responses()
	trailer := passed(out.Trailer())
	out.Cancel() // ends a Send that waits
	p.mu.Lock()
	p.ended = true // what Recv has returned may not be used after Finish
	if p.failed != nil {
		status = p.failed
	}
	p.mu.Unlock()
	s.Finish(nil, status, trailer)
	<-sent // Finish has ended its Recv
	return nil
}

// passed returns the metadata that is passed on. The fields of HTTP end here, and so do others that not each protocol can carry.
func passed(m call.Metadata) call.Metadata {
	if m.Check() == nil {
		return m
	}
	return slices.DeleteFunc(slices.Clone(m), func(f call.Field) bool { return f.Check() != nil })
}

// passing is a call that is passed on.
type passing struct {
	s       call.ServerStream
	out     call.ClientStream
	account *held.Shared

	mu     sync.Mutex // held by requests while it uses a message
	ended  bool
	failed *call.Status // why the messages of the client ended
}

// request passes on one message of the client. It returns false if there is no further one.
func (p *passing) request() (more bool) {
	data, err := p.s.Recv()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return false
	case errors.Is(err, io.EOF):
		_ = p.out.CloseSend() // responses has the reason of an error, as for Send
		return false
	case err != nil:
		p.failed = call.StatusOf(err)
		p.out.Cancel()
		return false
	}
	if p.failed = hold(p.account, data); p.failed != nil {
		p.out.Cancel()
		return false
	}
	err = p.out.Send(data)
	p.account.Add(-len(data))
	return err == nil
}

// hold counts a message until it is sent. It returns a status if the client's calls hold so much that a large message cannot wait, too, for one that reads slowly.
func hold(a *held.Shared, data []byte) *call.Status {
	a.Add(len(data))
	if len(data) > held.Spared && a.Full() {
		a.Add(-len(data))
		return &call.Status{Code: call.ResourceExhausted, Message: "messages of other calls, which are read slowly, use all memory for calls that are passed on: try again"}
	}
	return nil
}

// responses passes on the messages of the server, and returns the status of the call.
func (p *passing) responses() *call.Status {
	header, err := p.out.Header()
	if header = passed(header); err == nil && len(header) > 0 {
		err = p.s.SetHeader(header)
	}
	for err == nil {
		var data []byte
		if data, err = p.out.Recv(); err != nil {
			break
		}
		if s := hold(p.account, data); s != nil {
			return s
		}
		err = p.s.Send(data)
		p.account.Add(-len(data))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return call.StatusOf(err)
}

// passUnary is pass for a conn that has only calls with one message in each direction.
func passUnary(ctx context.Context, s call.ServerStream, conn call.Conn, next *call.Head, account *held.Shared) {
	var resp call.Response
	defer resp.Release()
	data, err := only(s)
	if err == nil {
		if refused := hold(account, data); refused != nil {
			err = refused
		} else {
			err = conn.Call(ctx, next, data, &resp)
			account.Add(-len(data))
		}
	}
	if err == nil {
		if refused := hold(account, resp.Data); refused != nil {
			err = refused
		} else {
			defer account.Add(-len(resp.Data))
		}
	}
	if header := passed(resp.Header); err == nil && len(header) > 0 {
		err = s.SetHeader(header)
	}
	if err != nil {
		s.Finish(nil, call.StatusOf(err), passed(resp.Trailer))
		return
	}
	last := resp.Data
	if last == nil {
		last = []byte{} // a message, also if it is empty
	}
	s.Finish(last, nil, passed(resp.Trailer))
}

// only returns the one message of the client.
func only(s call.ServerStream) ([]byte, error) {
	data, err := s.Recv()
	if errors.Is(err, io.EOF) {
		return nil, call.Errorf(call.Unimplemented, "the server takes one message, and the call has none")
	} else if err != nil {
		return nil, err
	}
	data = slices.Clone(data) // the next Recv overwrites it
	_, err = s.Recv()
	switch {
	case err == nil:
		return nil, call.Errorf(call.Unimplemented, "the server takes one message, and the call has more than one")
	case errors.Is(err, io.EOF):
		return data, nil
	}
	return nil, err
}
