// Package grpctransport has tests only: grpc-go at one end of transport/grpc. The root module does not link grpc-go.
package grpctransport
