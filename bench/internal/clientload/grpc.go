package clientload

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// GRPC are clients of grpc-go, without a retry policy. Their calls are health checks.
type GRPC struct {
	Name string
	Addr string
}

// Kind returns the Kind of a Load.
func (g GRPC) Kind() Kind {
	return Kind{Name: g.Name, Connect: func(context.Context, int) (Client, error) {
		conn, err := grpc.NewClient("passthrough:///"+g.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		return &grpcClient{conn}, err
	}}
}

type grpcClient struct{ conn *grpc.ClientConn }

func (c *grpcClient) Close() { _ = c.conn.Close() }

func (c *grpcClient) Do(ctx context.Context, _ string) (int, error) {
	_, err := grpc_health_v1.NewHealthClient(c.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return 0, err
}

// GRPCServer is a server of grpc-go for the clients GRPC.
type GRPCServer struct {
	Addr   string
	server *grpc.Server
}

// NewGRPCServer starts a server.
func NewGRPCServer() (*GRPCServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &GRPCServer{Addr: l.Addr().String(), server: grpc.NewServer()}
	grpc_health_v1.RegisterHealthServer(s.server, health.NewServer())
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// Close ends the server.
func (s *GRPCServer) Close() { s.server.Stop() }
