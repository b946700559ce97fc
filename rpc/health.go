package rpc

import (
	"context"
	"sync"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// The health service, which every Server has. It is that of gRPC, so any gRPC health checker can ask a Server, and a Client can
// check any gRPC server.
const (
	HealthCheck = "grpc.health.v1.Health.Check" // unary
	HealthWatch = "grpc.health.v1.Health.Watch" // the server sends a message for each change, and the first one at once
)

// HealthRequest is the request of the health service.
type HealthRequest struct {
	Service string `json:"service,omitempty"` // such as greeter.Greeter; "" means the whole server
}

// HealthResponse is its response. Status is SERVING, NOT_SERVING, UNKNOWN, or SERVICE_UNKNOWN, which only Watch sends.
type HealthResponse struct {
	Status string `json:"status"`
}

const (
	serving        = "SERVING"
	notServing     = "NOT_SERVING"
	serviceUnknown = "SERVICE_UNKNOWN"
)

// health is the state behind the health service.
type health struct {
	mu      sync.Mutex
	down    map[string]bool // services that SetServing has set to false
	changed chan struct{}   // closed at the next change; made on demand
}

// SetServing sets what the health service reports for a service, which need not have methods. "" stands for the whole server. Services
// with methods are serving at first. Clients that check health stop calling the server when the whole server is not serving.
func (s *Server) SetServing(service string, isServing bool) {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if down, set := h.down[service]; set && down == !isServing {
		return
	}
	if h.down == nil {
		h.down = make(map[string]bool)
	}
	h.down[service] = !isServing
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// serving returns the status of a service, and a channel that is closed when it may have changed.
func (s *Server) serving(service string) (string, <-chan struct{}) {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	select {
	case <-s.draining:
		return notServing, h.changed
	default:
	}
	switch _, set := h.down[service]; {
	case h.down[service] || h.down[""]:
		return notServing, h.changed
	case !set && service != "" && !s.hasService(service):
		return serviceUnknown, h.changed
	}
	return serving, h.changed
}

func (s *Server) hasService(service string) bool {
	for name := range *s.methods.Load() {
		if serviceOf(name) == service {
			return true
		}
	}
	return false
}

// serviceOf returns the part of a method's name before its last dot.
func serviceOf(method string) string {
	for i := len(method) - 1; i >= 0; i-- {
		if method[i] == '.' {
			return method[:i]
		}
	}
	return ""
}

// handleHealth registers the health service with all contents. Generated code for protobuf would be a dependency, so protobuf is
// encoded by hand.
func (s *Server) handleHealth() {
	check := newMethod[HealthRequest, HealthResponse](HealthCheck, nil)
	check.begin = beginWithRequest[HealthRequest]
	check.handle = func(_ context.Context, c *serverCall) (any, error) {
		status, _ := s.serving(c.request.(*HealthRequest).Service)
		if status == serviceUnknown {
			return nil, statusf(call.NotFound, "the server has no service %q", c.request.(*HealthRequest).Service)
		}
		return &HealthResponse{status}, nil
	}
	watch := newMethod[HealthRequest, HealthResponse](HealthWatch, nil)
	watch.serverStreams = true
	watch.begin = beginWithRequest[HealthRequest]
	watch.handle = func(ctx context.Context, c *serverCall) (any, error) {
		return nil, s.watchHealth(ctx, c.request.(*HealthRequest).Service, &Sender[HealthResponse]{c})
	}
	methods := make(map[string]*method)
	for _, m := range []*method{check, watch} {
		if m.check(healthContents(s.cfg.Contents)) == nil {
			methods[m.name] = m
		}
	}
	s.methods.Store(&methods)
}

// healthContents returns contents whose protobuf is healthCodec.
func healthContents(contents []envelope.Content) []envelope.Content {
	var out []envelope.Content
	for _, c := range contents {
		if c.Codec.Name() == "protobuf" {
			c.Codec = healthCodec{}
		}
		out = append(out, c)
	}
	return out
}

// watchHealth sends the status of a service whenever it changes, until the server drains.
func (s *Server) watchHealth(ctx context.Context, service string, out *Sender[HealthResponse]) error {
	last := ""
	for {
		status, changed := s.serving(service)
		if status != last {
			last = status
			if err := out.Send(&HealthResponse{status}); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-s.draining:
			return statusf(call.Unavailable, "the server is draining")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
