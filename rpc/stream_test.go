package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/ferry/codec/json"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

const (
	count  = "greeter.Greeter.Count"
	gather = "greeter.Greeter.Gather"
	chat   = "greeter.Greeter.Chat"
)

// streams registers a method of each shape.
func streams(s *rpc.Server) {
	rpc.HandleServerStream(s, count, func(ctx context.Context, in *helloRequest, out *rpc.Sender[helloResponse]) error {
		_ = rpc.SetTrailer(ctx, "sent", "3")
		for i := range 3 {
			if err := out.Send(&helloResponse{fmt.Sprint(in.Name, i)}); err != nil {
				return err
			}
		}
		return nil
	})
	rpc.HandleClientStream(s, gather, func(_ context.Context, in *rpc.Receiver[helloRequest]) (*helloResponse, error) {
		var names []string
		for {
			m, err := in.Recv()
			if errors.Is(err, io.EOF) {
				return &helloResponse{strings.Join(names, " ")}, nil
			} else if err != nil {
				return nil, err
			}
			names = append(names, m.Name)
		}
	})
	rpc.HandleBidi(s, chat, func(ctx context.Context, in *rpc.Receiver[helloRequest], out *rpc.Sender[helloResponse]) error {
		for {
			m, err := in.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if m.Name == "" {
				return call.Errorf(call.InvalidArgument, "no name")
			}
			if err := out.Send(&helloResponse{"Hello, " + m.Name}); err != nil {
				return err
			}
		}
	})
}

// receive returns the messages until the error that ends them.
func receive(s *rpc.Stream[helloResponse, helloRequest]) (all []string, err error) {
	for {
		m, err := s.Recv()
		if err != nil {
			return all, err
		}
		all = append(all, m.Message)
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	c := serve(t, nil, streams)
	for _, row := range []struct {
		method string
		send   []string
		want   string
		code   call.Code
	}{
		{count, []string{"n"}, "[n0 n1 n2]", call.OK},
		{count, nil, "[]", call.InvalidArgument},
		{gather, []string{"Bo", "Al"}, "[Bo Al]", call.OK},
		{gather, nil, "[]", call.OK}, // one empty message
		{chat, []string{"Bo", "Al"}, "[Hello, Bo Hello, Al]", call.OK},
		{chat, []string{"Bo", ""}, "[Hello, Bo]", call.InvalidArgument},
		{"greeter.Greeter.Other", nil, "[]", call.Unimplemented},
	} {
		s, err := rpc.Open[helloResponse, helloRequest](t.Context(), c, row.method)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range row.send {
			if err := s.Send(&helloRequest{name}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
		got, err := receive(s)
		if fmt.Sprint(got) != row.want || row.code == call.OK && !errors.Is(err, io.EOF) || row.code != call.OK && !errors.Is(err, &call.Status{Code: row.code}) {
			t.Errorf("%s %q: got %q, %v, want %s, %v", row.method, row.send, got, err, row.want, row.code)
		}
		if row.method == count && row.code == call.OK && s.Trailer().Get("sent") != "3" {
			t.Errorf("%s: the trailer is %v", row.method, s.Trailer())
		}
	}
	for _, m := range c.Metrics().Methods {
		if m.InFlight != 0 {
			t.Errorf("%s: %d calls in flight after all have ended", m.Method, m.InFlight)
		}
	}
}

// TestStreamCancel: the handler's context ends when the client cancels the stream, and when its context ends.
func TestStreamCancel(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan struct{}), make(chan error)
	c := serve(t, nil, func(s *rpc.Server) {
		rpc.HandleBidi(s, chat, func(ctx context.Context, in *rpc.Receiver[helloRequest], _ *rpc.Sender[helloResponse]) error {
			entered <- struct{}{}
			_, err := in.Recv()
			ended <- err
			return err
		})
	})
	for name, end := range map[string]func(cancel context.CancelFunc, s *rpc.Stream[helloResponse, helloRequest]){
		"Cancel":  func(_ context.CancelFunc, s *rpc.Stream[helloResponse, helloRequest]) { s.Cancel() },
		"context": func(cancel context.CancelFunc, _ *rpc.Stream[helloResponse, helloRequest]) { cancel() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := rpc.Open[helloResponse, helloRequest](ctx, c, chat)
		if err != nil {
			t.Fatal(err)
		}
		<-entered
		end(cancel, s)
		if err := <-ended; !errors.Is(err, &call.Status{Code: call.Canceled}) {
			t.Errorf("%s: the handler's Recv returned %v, want Canceled", name, err)
		}
		cancel()
	}
}

// TestStreamAfterTheHandler: what a handler leaves behind cannot send on.
func TestStreamAfterTheHandler(t *testing.T) {
	t.Parallel()
	var kept *rpc.Sender[helloResponse]
	var keptIn *rpc.Receiver[helloRequest]
	c := serve(t, nil, func(s *rpc.Server) {
		rpc.HandleBidi(s, chat, func(_ context.Context, in *rpc.Receiver[helloRequest], out *rpc.Sender[helloResponse]) error {
			kept, keptIn = out, in
			return nil
		})
	})
	s, err := rpc.Open[helloResponse, helloRequest](t.Context(), c, chat)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := kept.Send(&helloResponse{}); err == nil {
		t.Error("Send after the handler has returned gives no error")
	}
	if _, err := keptIn.Recv(); err == nil {
		t.Error("Recv after the handler has returned gives no error")
	}
}

// TestStreamEnvelope: an envelope is for unary calls.
func TestStreamEnvelope(t *testing.T) {
	t.Parallel()
	p := newDirect()
	contents := []envelope.Content{
		{Type: "application/json", Codec: json.Codec{}},
		{Type: "application/jsonrpc2", Envelope: envelope.JSONRPC2{}, Codec: json.Codec{}},
	}
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: contents})
	streams(srv)
	listen(t, p, srv, "a")
	c := dial(t, p, "a", &rpc.ClientConfig{Contents: contents})
	if _, err := rpc.Open[helloResponse, helloRequest](t.Context(), c, chat, rpc.WithContent("application/jsonrpc2")); !errors.Is(err, &call.Status{Code: call.InvalidArgument}) {
		t.Errorf("got %v, want InvalidArgument", err)
	}
}
