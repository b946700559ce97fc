package rpcload

import (
	"context"
	"net"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport/tcp"
)

// The rows of TailSystems. Ferry is the default policy with ejection and hedges.
const (
	TailNoHedges   = "ferry without hedges"
	TailNoEjection = "ferry without ejection"
	TailNeither    = "ferry without both"
	TailRoundRobin = "ferry, round robin, without both"
	TailGRPCGo     = "grpc-go, round robin"
)

// TailSystems are the clients of several servers.
func TailSystems() []System {
	hedge := &rpc.Hedge{}
	return []System{
		tailFerry(Ferry, rpc.ClientConfig{Hedge: hedge}),
		tailFerry(TailNoHedges, rpc.ClientConfig{}),
		tailFerry(TailNoEjection, rpc.ClientConfig{Hedge: hedge, Outlier: rpc.NoEjection}),
		tailFerry(TailNeither, rpc.ClientConfig{Outlier: rpc.NoEjection}),
		tailFerry(TailRoundRobin, rpc.ClientConfig{Outlier: rpc.NoEjection, Policy: rpc.RoundRobin}),
		tailGRPCGo(),
	}
}

// tailFerry returns a row of ferry with a client that is configured so. All else is the default.
func tailFerry(name string, cfg rpc.ClientConfig) System {
	return System{
		Name: name, Version: "this commit", Kind: harness.Ferry,
		Serve: func(ctx context.Context, _ Spec) (string, error) {
			slots := newCapacity()
			srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
			rpc.Handle(srv, method, func(ctx context.Context, in *Message) (*Message, error) { return respond(in), slots.use(ctx) })
			l, err := srv.Listen(ctx, native.Protocol{}, tcp.New(nil), "127.0.0.1:0")
			if err != nil {
				return "", err
			}
			return l.Addr().String(), nil
		},
		Dial: func(ctx context.Context, s Spec) (Client, error) {
			c := new(tailFerryClient)
			cfg.Content, cfg.Idempotent, cfg.Observer = protobufType, []string{method}, c
			var err error
			c.ferryClient, err = dialFerry(ctx, s, protoKind, tcp.New(nil), "tcp://"+s.Addr, cfg)
			return c, err
		},
	}
}

// tailFerryClient counts the attempts of calls that have ended.
type tailFerryClient struct {
	*ferryClient
	attempts atomic.Int64
}

var _ rpc.Observer = (*tailFerryClient)(nil)

func (c *tailFerryClient) CallStarted(ctx context.Context, _ *rpc.Info) context.Context { return ctx }

func (c *tailFerryClient) CallEnded(_ context.Context, _ *rpc.Info, e rpc.End) {
	c.attempts.Add(int64(e.Attempts))
}

func (c *tailFerryClient) Attempts() int { return int(c.attempts.Load()) }

func tailGRPCGo() System {
	return System{
		Name: TailGRPCGo, Version: "v" + grpc.Version, Kind: harness.Peer,
		Serve: func(context.Context, Spec) (string, error) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return "", err
			}
			srv, slots := grpc.NewServer(), newCapacity()
			registerGRPCGo(srv, func(ctx context.Context, in *Message) (*Message, error) { return respond(in), slots.use(ctx) })
			go func() { _ = srv.Serve(l) }()
			return l.Addr().String(), nil
		},
		Dial: dialTailGRPCGo,
	}
}

// dialTailGRPCGo connects to all servers.
func dialTailGRPCGo(ctx context.Context, s Spec) (Client, error) {
	c := new(tailGRPCGoClient)
	servers := manual.NewBuilderWithScheme("bench")
	var state resolver.State
	for addr := range strings.SplitSeq(s.Addr, ",") {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: addr})
	}
	servers.InitialState(state)
	conn, err := grpc.NewClient("bench:///servers", grpc.WithResolvers(servers), grpc.WithStatsHandler(c),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`))
	if err != nil {
		return nil, err
	}
	c.grpcGoClient = grpcGoClient[Message]{conns: []*grpc.ClientConn{conn}, kind: protoKind, requests: requests(protoKind, s)}
	return c, untilServed(ctx, c)
}

// tailGRPCGoClient counts attempts.
type tailGRPCGoClient struct {
	grpcGoClient[Message]
	attempts atomic.Int64
}

var _ stats.Handler = (*tailGRPCGoClient)(nil)

func (c *tailGRPCGoClient) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return ctx
}

func (c *tailGRPCGoClient) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

func (c *tailGRPCGoClient) HandleConn(context.Context, stats.ConnStats) {}

func (c *tailGRPCGoClient) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.Begin); ok {
		c.attempts.Add(1)
	}
}

func (c *tailGRPCGoClient) Attempts() int { return int(c.attempts.Load()) }
