package rpcload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/internal/load/echo"
	"example.com/ferry/internal/wirecount"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
	ingrpc "example.com/ferry/transport/grpc"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/unix"
	"example.com/ferry/transport/utp"
	"example.com/ferry/transport/websocket"
)

// The names of ferry's rows. The first one is the native protocol over TCP.
const (
	Ferry          = "ferry"
	FerryTLS       = "ferry, TLS"
	FerryUnix      = "ferry, unix"
	FerryQUIC      = "ferry, QUIC"
	FerryWebSocket = "ferry, WebSocket"
	FerryInGRPC    = "ferry, in a stream of gRPC"
	FerryUTP       = "ferry, uTP" // only in a program built with -tags utp
	FerryGRPC      = "ferry gRPC"
	FerryGRPCServe = "ferry gRPC server, grpc-go client"
	FerryGRPCDial  = "grpc-go server, ferry gRPC client"
	FerryHTTP      = "ferry JSON-RPC over HTTP"
)

// The content types of ferry's rows.
const (
	protobufType = "application/protobuf"
	jsonType     = "application/json"
)

// ferrySystems are ferry's rows over its transports, and its other protocols over TCP.
func ferrySystems() []System {
	overTCP := func(name string, p call.Protocol, contentType string) System {
		return ferrySystem(name, "tcp", p, contentType)
	}
	all := []System{overTCP(Ferry, native.Protocol{}, protobufType)}
	for _, t := range []struct{ name, scheme string }{{FerryTLS, "tls"}, {FerryUnix, "unix"}, {FerryQUIC, "quic"}, {FerryWebSocket, "ws"}, {FerryInGRPC, "grpc"}} {
		all = append(all, ferrySystem(t.name, t.scheme, native.Protocol{}, protobufType))
	}
	if utp.Descriptor().Missing == "" {
		all = append(all, ferrySystem(FerryUTP, "utp", native.Protocol{}, protobufType))
	}
	mine, other := overTCP(FerryGRPC, grpc.Protocol{}, protobufType), grpcGo(GRPCGo, protoKind)
	serves, dials := mine, mine
	serves.Name, serves.Dial, serves.Counted = FerryGRPCServe, other.Dial, false
	dials.Name, dials.Serve = FerryGRPCDial, other.Serve
	return append(all, mine, serves, dials, overTCP(FerryHTTP, jsonrpc.Protocol{}, jsonType))
}

func ferrySystem(name, scheme string, p call.Protocol, contentType string) System {
	e := echoOf(contentType)
	return System{
		Name: name, Version: "this commit", Kind: harness.Ferry, Counted: true,
		Serve: func(ctx context.Context, s Spec) (string, error) {
			t, err := carrier(scheme, s.Dir)
			if err != nil {
				return "", err
			}
			addr := "127.0.0.1:0"
			if scheme == "unix" {
				addr = filepath.Join(s.Dir, fmt.Sprintf("rpc-%d", os.Getpid()))
			}
			srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
			e.Handle(srv)
			l, err := srv.Listen(ctx, p, t, addr)
			if err != nil {
				return "", err
			}
			return l.Addr().String(), nil
		},
		Dial: func(ctx context.Context, s Spec) (Client, error) {
			t, err := carrier(scheme, s.Dir)
			if err != nil {
				return nil, err
			}
			return dialFerry(ctx, s, e, t, scheme+"://"+s.Addr, rpc.ClientConfig{Protocol: p, Content: contentType})
		},
	}
}

// carrier returns a transport that can listen and dial.
func carrier(scheme, dir string) (transport.Transport, error) {
	switch scheme {
	case "tcp":
		return tcp.New(nil), nil
	case "unix":
		return unix.New(nil), nil
	case "ws":
		return websocket.New(nil), nil
	case "grpc":
		return ingrpc.New(nil), nil
	case "utp":
		return utp.New(nil), nil
	}
	id, trust, err := identity(dir)
	if err != nil {
		return nil, err
	}
	if scheme == "quic" {
		return quic.New(&quic.Config{ServerTLS: id.ServerTLS(), ClientTLS: trust}), nil
	}
	return tcp.NewTLS(&tcp.Config{ServerTLS: id.ServerTLS(), ClientTLS: trust}), nil
}

// dialFerry connects a client with all content types. cfg has the rest.
func dialFerry(ctx context.Context, s Spec, e echo.Echo, t transport.Transport, target string, cfg rpc.ClientConfig) (*ferryClient, error) {
	c := &ferryClient{counts: new(wirecount.Counts)}
	if s.Count {
		counted := wirecount.New(t)
		t, c.counts = counted, counted.Counts
	}
	cfg.Transports, cfg.Contents, cfg.Conns, cfg.Timeout = []transport.Transport{t}, content.All(), s.Conns, callTime
	var err error
	if c.client, err = rpc.Dial(ctx, target, &cfg); err != nil {
		return nil, err
	}
	for range s.Workers {
		c.callers = append(c.callers, e.Caller(c.client))
	}
	return c, nil
}

type ferryClient struct {
	client  *rpc.Client
	counts  *wirecount.Counts
	callers []func(context.Context) error // of each worker
}

func (c *ferryClient) Call(worker int) error { return c.callers[worker](context.Background()) }
func (c *ferryClient) Bytes() int64          { return c.counts.Written.Load() + c.counts.Read.Load() }
func (c *ferryClient) Close() error          { return c.client.Close() }
