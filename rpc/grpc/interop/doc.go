// Package interop tests rpc/grpc against grpc-go: its client and its server of gRPC's interoperability tests, unmodified, call and are
// called by ferry's, in cleartext and over TLS. The programs are built in the module bench, which links grpc-go.
package interop
