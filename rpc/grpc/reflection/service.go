package reflection

import (
	"context"
	"errors"
	"io"

	"example.com/ferry/rpc/call"
)

// Registry has methods. rpc.Server implements it. A method that has Types() (request, response reflect.Type) is described if both are
// messages of Protocol Buffers, without the pointer.
type Registry interface {
	Methods() []call.Method
}

// Service is both versions of the reflection service, for grpc.Config.Services.
type Service struct{ registry Registry }

var _ call.Service = Service{}

// New returns the service that describes the methods of r, also those that r gets later.
func New(r Registry) Service { return Service{r} }

// method is the one method of each version. Both have the same messages.
type method string

// The methods of Service.
const (
	methodV1      method = "grpc.reflection.v1.ServerReflection.ServerReflectionInfo"
	methodV1Alpha method = "grpc.reflection.v1alpha.ServerReflection.ServerReflectionInfo"
)

// Name implements call.Method.
func (m method) Name() string { return string(m) }

// Shape implements call.Method.
func (m method) Shape() (clientStreams, serverStreams bool) { return true, true }

// Method implements call.Service.
func (Service) Method(name string) call.Method {
	if m := method(name); m == methodV1 || m == methodV1Alpha {
		return m
	}
	return nil
}

// Serve implements call.Service. The descriptors are collected for each call, which is rare.
func (s Service) Serve(_ context.Context, _ call.Method, stream call.ServerStream) {
	stream.Finish(nil, s.serve(stream), nil)
}

func (s Service) serve(stream call.ServerStream) *call.Status {
	c := collect(s.registry.Methods())
	sent := make(map[string]bool)
	for {
		data, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return call.StatusOf(err)
		}
		r, err := parseRequest(data)
		if err != nil {
			return &call.Status{Code: call.InvalidArgument, Message: err.Error()}
		}
		if err := stream.Send(respond(r, c, sent)); err != nil {
			return call.StatusOf(err)
		}
	}
}
