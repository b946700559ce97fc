package grpc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// handler handles a call, and returns what Finish gets.
type handler func(ctx context.Context, s call.ServerStream) (last []byte, status *call.Status, trailer call.Metadata)

// method is a method of a service.
type method struct {
	name                         string
	clientStreams, serverStreams bool
	handle                       handler
}

func (m *method) Name() string        { return m.name }
func (m *method) Shape() (bool, bool) { return m.clientStreams, m.serverStreams }

// service has methods by their names.
type service map[string]*method

func (s service) Method(name string) call.Method {
	if m, ok := s[name]; ok {
		return m
	}
	return nil
}

func (s service) Serve(ctx context.Context, m call.Method, stream call.ServerStream) {
	if m == nil {
		stream.Finish(nil, &call.Status{Code: call.Unimplemented, Message: "no method " + stream.Head().Method}, nil)
		return
	}
	stream.Finish(m.(*method).handle(ctx, stream))
}

// unary adds a method with one message each way.
func (s service) unary(name string, h handler) { s[name] = &method{name: name, handle: h} }

// stream adds a method with any number of messages each way.
func (s service) stream(name string, h handler) {
	s[name] = &method{name: name, handle: h, clientStreams: true, serverStreams: true}
}

// The methods of newService.
const (
	echoMethod   = "test.Echo.Unary"
	streamMethod = "test.Echo.Stream"
	hangMethod   = "test.Echo.Hang"
	downMethod   = "test.Echo.Down"
)

// newService returns a service. Unary, Stream and Down send each message back; Down takes only one. The metadata x-fail is the message of the
// status that a call ends with; with x-fail-long, it is the request. x-header and x-trailer come back as the header and trailer. Hang ends when its context does.
func newService() service {
	s := service{}
	echo := func(_ context.Context, stream call.ServerStream) ([]byte, *call.Status, call.Metadata) {
		md := stream.Head().Metadata
		var trailer call.Metadata
		for _, v := range md.Values("x-trailer-bin") {
			trailer.Add("x-trailer-bin", v)
		}
		for _, v := range md.Values("x-header") {
			var h call.Metadata
			h.Add("x-header", v)
			if err := stream.SetHeader(h); err != nil {
				return nil, call.StatusOf(err), nil
			}
		}
		if text := md.Get("x-fail"); text != "" {
			return nil, &call.Status{Code: call.NotFound, Message: text, Details: []call.Detail{{Type: "type.googleapis.com/test.Why", Value: []byte("\x00\xff")}}}, trailer
		}
		if method := stream.Head().Method; strings.HasSuffix(method, ".Unary") {
			m, err := stream.Recv()
			if err != nil {
				return nil, call.StatusOf(err), trailer
			}
			if md.Get("x-fail-long") != "" {
				return nil, &call.Status{Code: call.NotFound, Message: string(m), Details: []call.Detail{{Type: "type.googleapis.com/test.Why"}}}, trailer
			}
			return append([]byte{}, m...), nil, trailer
		}
		for {
			m, err := stream.Recv()
			switch {
			case errors.Is(err, io.EOF):
				return nil, nil, trailer
			case err != nil:
				return nil, call.StatusOf(err), trailer
			}
			if err := stream.Send(m); err != nil {
				return nil, call.StatusOf(err), trailer
			}
		}
	}
	s.unary(echoMethod, echo)
	s.stream(streamMethod, echo)
	s[downMethod] = &method{name: downMethod, handle: echo, serverStreams: true}
	s.unary(hangMethod, func(ctx context.Context, _ call.ServerStream) ([]byte, *call.Status, call.Metadata) {
		<-ctx.Done()
		return nil, call.StatusOf(ctx.Err()), nil
	})
	return s
}

// rig is a server and a connection to it.
type rig struct {
	transport transport.Transport
	addr      string
	listener  call.Listener
	conn      call.Conn
}

// newRig starts a server and connects. Both sides end with the test.
func newRig(t testing.TB, s call.Service, server, client *grpc.Config) *rig {
	t.Helper()
	r := &rig{transport: memory.New(nil), addr: "server"}
	l, err := grpc.Protocol{Config: server}.Listen(t.Context(), r.transport, r.addr, s)
	if err != nil {
		t.Fatal(err)
	}
	r.listener = l
	t.Cleanup(func() { _ = l.Close() })
	r.conn = r.dial(t, client)
	return r
}

func (r *rig) dial(t testing.TB, cfg *grpc.Config) call.Conn {
	t.Helper()
	c, err := grpc.Protocol{Config: cfg}.Dial(t.Context(), r.transport, r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
	})
	return c
}

func head(method string) *call.Head {
	return &call.Head{Method: method, Content: "application/protobuf"}
}

// invoke makes a unary call and returns a copy of the response.
func invoke(ctx context.Context, c call.Conn, h *call.Head, data []byte) (got []byte, resp call.Response, err error) {
	err = c.Call(ctx, h, data, &resp)
	got = append(got, resp.Data...)
	resp.Release()
	return got, resp, err
}

// wantCode fails the test unless err is a status with the code.
func wantCode(t testing.TB, err error, want call.Code) {
	t.Helper()
	if got := call.StatusOf(err); got == nil || got.Code != want {
		t.Errorf("got %v, want %v", err, want)
	}
}
