// Package reflection tells clients of gRPC, such as grpcurl, which methods a server has and what their messages are: the services
// grpc.reflection.v1.ServerReflection and v1alpha.
//
// The descriptors of messages are those of the registered types. A service that is not declared in a linked .proto file gets a
// file of its own, made of its methods. Methods whose types are not Protocol Buffers are listed with their service, but not described.
//
//	srv := rpc.NewServer(...)
//	p := grpc.Protocol{Config: &grpc.Config{Services: []call.Service{reflection.New(srv)}}}
//	l, err := srv.Listen(ctx, p, tcp.New(nil), "127.0.0.1:9102")
package reflection
