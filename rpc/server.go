package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"example.com/ferry/codec/json"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/transport"
)

// Defaults of ServerConfig and ClientConfig.
const (
	defaultMaxMessage = 4 << 20 // bytes
	defaultMaxCalls   = 10000
)

// ServerConfig configures a Server.
type ServerConfig struct {
	// Contents are the content types that the server offers for each method, as far as their codecs can encode its types. Nil means
	// application/json. Package rpc/content has all.
	Contents []envelope.Content

	// MaxMessage is the size in bytes of the largest message, in either direction. A larger one ends its call with ResourceExhausted.
	// Zero means 4 MiB. The protocol has a limit of its own, which it checks before it stores a message.
	MaxMessage int

	// MaxCalls is the number of calls that may be in progress at once. Further calls end with ResourceExhausted. Zero means 10000;
	// a negative value means no limit. The option MaxCalls limits one method.
	MaxCalls int

	// Interceptors run around each call. The first one is the outermost.
	Interceptors []Interceptor

	// Observer is told of the start and the end of each call. Nil means none.
	Observer Observer

	// Log gets a line for each panic of a handler. Nil means slog.Default().
	Log *slog.Logger
}

// Server holds methods and runs their handlers. Any number of listeners, of any protocol over any transport, pass calls to it.
// All methods of a Server may overlap.
type Server struct {
	cfg      ServerConfig
	active   atomic.Int64 // calls in progress
	methods  atomic.Pointer[map[string]*method]
	sorted   atomic.Pointer[sortedMethods] // nil before the first Methods
	draining chan struct{}                 // closed by Drain and Close
	unknown  atomic.Uint64                 // calls of methods that are not registered
	health   health

	mu        sync.Mutex
	errs      []error // of registrations
	closed    bool
	listeners map[call.Listener]struct{}
}

var _ call.Service = (*Server)(nil)

// NewServer returns a Server without listeners. nil means the defaults. Its methods are the health service, grpc.health.v1.Health,
// and what Handle and its siblings add.
func NewServer(cfg *ServerConfig) *Server {
	s := &Server{draining: make(chan struct{}), listeners: make(map[call.Listener]struct{})}
	if cfg != nil {
		s.cfg = *cfg
	}
	if s.cfg.Contents == nil {
		s.cfg.Contents = []envelope.Content{{Type: "application/json", Codec: json.Codec{}}}
	}
	if s.cfg.MaxMessage == 0 {
		s.cfg.MaxMessage = defaultMaxMessage
	}
	if s.cfg.MaxCalls == 0 {
		s.cfg.MaxCalls = defaultMaxCalls
	}
	if s.cfg.Log == nil {
		s.cfg.Log = slog.Default()
	}
	s.methods.Store(&map[string]*method{})
	s.handleHealth()
	return s
}

// Listen serves calls on addr, which has no scheme, with protocol p over transport t, until Drain or Close. It returns the errors
// of Handle and its siblings, if there are any.
func (s *Server) Listen(ctx context.Context, p call.Protocol, t transport.Transport, addr string) (call.Listener, error) {
	s.mu.Lock()
	err := errors.Join(s.errs...)
	if s.closed {
		err = errors.New("rpc: listen on " + addr + ": the server is draining: make another Server")
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	l, err := p.Listen(ctx, t, addr, s)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(errors.New("rpc: listen on "+addr+": the server is draining: make another Server"), l.Close())
	}
	s.listeners[l] = struct{}{}
	return l, nil
}

// Drain stops accepting connections and calls, and waits until all calls have ended and their responses are sent. Clients that
// know other servers call those; no call is lost. When ctx ends, Drain closes all connections and returns ctx's error. The
// health service reports NOT_SERVING from the start of Drain.
func (s *Server) Drain(ctx context.Context) error {
	return s.stop(func(l call.Listener) error { return l.Drain(ctx) })
}

// Close closes all listeners and connections at once.
func (s *Server) Close() error { return s.stop(call.Listener.Close) }

func (s *Server) stop(how func(call.Listener) error) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.draining)
	}
	listeners := make([]call.Listener, 0, len(s.listeners))
	for l := range s.listeners {
		listeners = append(listeners, l)
	}
	s.mu.Unlock()
	errs := make([]error, len(listeners))
	var wg sync.WaitGroup
	for i, l := range listeners {
		wg.Go(func() { errs[i] = how(l) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Method implements call.Service.
func (s *Server) Method(name string) call.Method {
	if m := (*s.methods.Load())[name]; m != nil {
		return m
	}
	return nil
}

// sortedMethods are the methods of a map, sorted by name.
type sortedMethods struct {
	of   *map[string]*method
	list []call.Method
}

// Methods returns the methods, sorted by name. The caller must not change the list. Each of them also has Types() (request, response
// reflect.Type), the struct types of its messages.
func (s *Server) Methods() []call.Method {
	of := s.methods.Load()
	if known := s.sorted.Load(); known != nil && known.of == of {
		return known.list
	}
	list := make([]call.Method, 0, len(*of))
	for _, m := range *of {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b call.Method) int { return strings.Compare(a.Name(), b.Name()) })
	s.sorted.Store(&sortedMethods{of, list})
	return list
}

// add registers m, or keeps the error for Listen.
func (s *Server) add(m *method) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := *s.methods.Load()
	err := m.check(s.cfg.Contents)
	if err == nil && old[m.name] != nil {
		err = fmt.Errorf("rpc: method %s is registered twice", m.name)
	}
	if err != nil {
		s.errs = append(s.errs, err)
		return
	}
	methods := maps.Clone(old)
	methods[m.name] = m
	s.methods.Store(&methods)
}
