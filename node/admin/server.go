package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"example.com/ferry/cpu"
	"example.com/ferry/format"
	"example.com/ferry/internal/certs"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/overload"
	"example.com/ferry/stream/hop"
)

// maxConnections bounds the connections served at once; more wait in the kernel's backlog.
const maxConnections = 256

// Config configures a Server. A nil member leaves its part out.
type Config struct {
	Address      string                // HOST:PORT; port 0 takes any
	Hosts        []string              // further host names that requests may be for
	Snapshot     func() hop.Snapshot   // read for each scrape of /metrics
	Tap          Tap                   // gives /api/stream its messages
	Functions    Functions             // what /api/functions lists, starts and stops
	CPU          func() cpu.Stats      // the pool of heavy functions; nil if there is none
	Overload     func() overload.Level // the proxy's, for /ready; nil if there is no proxy
	Proxy        func() proxy.Snapshot // read for each scrape of /metrics and for /api/proxy
	Certificates func() []certs.Stats  // the certificate files in use
	Reloads      func() Reloads        // reloads of the configuration
	Formats      []format.Format       // payloads /api/stream can show as JSON; others are shown as hex
	Log          *slog.Logger          // nil means slog.Default
}

// Server is one admin server. Its methods may be called from several goroutines.
type Server struct {
	http  *http.Server
	ln    net.Listener
	ready atomic.Bool
	end   context.CancelFunc // ends the streams, which Shutdown would wait for
}

// New binds cfg.Address; a busy port is an error that names it. The caller calls Serve.
func New(cfg Config) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	formats, err := format.NewByType(cfg.Formats)
	if err != nil {
		return nil, fmt.Errorf("admin: Config.Formats: %w", err)
	}
	ln, err := net.Listen("tcp", cfg.Address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("admin: %s is in use: stop what listens there, or set admin.address: %w", cfg.Address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("admin: cannot listen on %q: %w", cfg.Address, err)
	}
	ctx, end := context.WithCancel(context.Background())
	s := &Server{ln: netutil.LimitListener(ln, maxConnections), end: end}
	s.http = &http.Server{
		Handler:           guard(cfg.Hosts, s.routes(cfg, formats)),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

func (s *Server) routes(cfg Config, formats *format.ByType) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "pong") })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		level := overload.Normal
		if cfg.Overload != nil {
			level = cfg.Overload()
		}
		switch {
		case !s.ready.Load():
			writeText(w, http.StatusServiceUnavailable, "not ready: starting or draining")
		case level == overload.RefusingConnections:
			writeText(w, http.StatusServiceUnavailable, "not ready: overloaded, "+level.String())
		case level != overload.Normal:
			writeText(w, http.StatusOK, "ready, but overloaded: "+level.String())
		default:
			writeText(w, http.StatusOK, "ready")
		}
	})
	mux.Handle("GET /metrics", metricsHandler(cfg))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	if cfg.Tap != nil {
		mux.Handle("GET /api/stream", &streams{tap: cfg.Tap, formats: formats})
	}
	if cfg.Functions != nil {
		functionRoutes(mux, cfg.Functions)
	}
	if cfg.Proxy != nil {
		mux.HandleFunc("GET /api/proxy", proxyHandler(cfg.Proxy))
	}
	mux.Handle("GET /", dashboard())
	return mux
}

// Addr returns the address the server listens on.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// SetReady sets whether /ready responds 200.
func (s *Server) SetReady(ready bool) { s.ready.Store(ready) }

// Serve serves requests until Shutdown; then it returns nil.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

// Shutdown ends the streams, waits for other requests until ctx ends, and closes the server.
func (s *Server) Shutdown(ctx context.Context) error {
	s.ready.Store(false)
	s.end()
	err := s.http.Shutdown(ctx)
	_ = s.ln.Close() // the HTTP server closes it only after Serve
	if err != nil {
		return errors.Join(fmt.Errorf("admin: %w", err), s.http.Close())
	}
	return nil
}

func writeText(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body+"\n") // the client may have disconnected
}

// writeJSON responds with v as JSON.
func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		writeText(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(body, '\n')) // the client may have disconnected
}
