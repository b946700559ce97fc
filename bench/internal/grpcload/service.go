package grpcload

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// The methods of the service: both send each message back.
const (
	service    = "bench.Echo"
	unaryName  = "Unary"
	streamName = "Stream"
)

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("grpcload: a message of type %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*m)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("grpcload: a message of type %T", v)
	}
	*m = data.Materialize()
	return nil
}

func (rawCodec) Name() string { return "raw" }

// description describes the service without generated code.
var description = grpc.ServiceDesc{
	ServiceName: service,
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: unaryName, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		message := new([]byte)
		return message, decode(message)
	}}},
	Streams: []grpc.StreamDesc{{StreamName: streamName, ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
		for {
			message := new([]byte)
			if err := s.RecvMsg(message); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := s.SendMsg(message); err != nil {
				return err
			}
		}
	}}},
}
