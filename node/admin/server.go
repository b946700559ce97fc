package admin

import (
	"context"
	"crypto/tls"
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

	"example.com/ferry/broker"
	"example.com/ferry/broker/calls"
	"example.com/ferry/cpu"
	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
	streamweb "example.com/ferry/edge/web"
	"example.com/ferry/format"
	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/handover"
	"example.com/ferry/internal/pki"
	"example.com/ferry/link/forward"
	"example.com/ferry/link/mqttbridge"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/overload"
)

// Config configures a Server. A nil member leaves its part out.
type Config struct {
	Address       string                      // HOST:PORT; port 0 takes any
	Hosts         []string                    // further host names that requests may be for
	Token         string                      // what requests must prove that they know; empty means that none must
	LocalToken    string                      // what actions must prove that they know if Token is empty
	NoActions     string                      // why there is no token, so that actions are refused; empty means that they are allowed without one
	TLS           *tls.Config                 // nil means cleartext
	ReadOnly      bool                        // only /metrics, /ping and /ready
	Snapshot      func() broker.Snapshot      // read for each scrape of /metrics
	Services      func() []calls.ServiceStats // calls between clients; read for each scrape of /metrics
	Tap           Tap                         // gives /api/stream its messages
	Functions     Functions                   // what /api/functions lists, starts and stops
	CPU           func() cpu.Stats            // the pool of heavy functions; nil if there is none
	Overload      func() overload.Level       // the proxy's, for /ready; nil if there is no proxy
	Links         func() []forward.Stats      // links to other nodes
	Bridges       func() []mqttbridge.Stats   // bridges to other MQTT brokers
	Web           func() []streamweb.Stats    // listeners for HTTP
	MQTT          func() *mqtt.Server         // listeners for MQTT; it returns nil while there are none
	Logins        *edge.Logins                // of both
	Streams       Streams                     // what /api/streams shows
	Archiver      Archiver                    // what /api/backup saves
	Proxy         func() proxy.Snapshot       // read for each scrape of /metrics and for /api/proxy
	Endpoints     Endpoints                   // drains and weighs the endpoints of the proxy
	Connections   Connections                 // what /api/connections lists and closes
	LogLevels     LogLevels                   // what /api/log-level shows and changes
	Configuration func() ([]byte, error)      // the running configuration as JSON, without secrets
	Certificates  func() []certs.Stats        // the certificate files in use
	Reloads       func() Reloads              // reloads of the configuration
	Drain         func() DrainPhase           // how far the node is that ends
	Vitals        func() Vitals               // time and descriptors of the process
	Outages       func() []string             // what limits the node, for /ready; links and bridges are not in it
	Plan          func([]byte) (any, error)   // what a reload of the files in a request would do
	Upgrade       Upgrade                     // replaces this process; nil if it cannot
	Sockets       *handover.Set               // binds Address; nil means the operating system
	Version       string                      // of the program, for /metrics; empty means that it is not told
	Formats       []format.Format             // payloads that /api/stream and /api/streams can show as JSON
	Log           *slog.Logger                // nil means slog.Default
}

// Server is one admin server. Its methods may be called from several goroutines.
type Server struct {
	http    *http.Server
	ln      net.Listener
	ready   atomic.Bool
	service atomic.Pointer[service]

	unauthorized atomic.Uint64 // requests without the token
	refused      atomic.Uint64 // requests beyond what is handled at once
	conns        *connectionLimit
	costly       places
	profiles     places
}

// service is what Use replaces.
type service struct {
	handler http.Handler
	tls     *tls.Config
	token   string
	ctx     context.Context // ends the requests that were begun with another token
	end     context.CancelFunc
}

// New binds cfg.Address; a busy port is an error that names it. The caller calls Serve.
func New(cfg Config) (*Server, error) {
	s := &Server{conns: newConnectionLimit(maxConnections), costly: places{max: maxCostly}, profiles: places{max: maxProfiles}}
	first, err := s.newService(cfg)
	if err != nil {
		return nil, err
	}
	s.service.Store(first)
	ln, err := cfg.Sockets.Listen(context.Background(), &net.ListenConfig{}, "tcp", cfg.Address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("admin: %s is in use: stop what listens there, or choose another address: %w", cfg.Address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("admin: cannot listen on %q: %w", cfg.Address, err)
	}
	s.ln = &securedListener{ln, &s.service}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ConnState:         s.conns.changed,
		ConnContext:       withConn,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(logOf(cfg).Handler(), slog.LevelDebug),
	}
	return s, nil
}

func logOf(cfg Config) *slog.Logger {
	if cfg.Log == nil {
		return slog.Default()
	}
	return cfg.Log
}

// newService makes what serves requests as cfg says.
func (s *Server) newService(cfg Config) (*service, error) {
	cfg.Log = logOf(cfg)
	formats, err := format.NewByType(cfg.Formats)
	if err != nil {
		return nil, fmt.Errorf("admin: Config.Formats: %w", err)
	}
	handler := s.routes(cfg, formats)
	if cfg.Token != "" {
		handler = requireToken(cfg.Token, &s.unauthorized, handler)
	}
	made := &service{handler: guard(cfg.Hosts, handler), tls: cfg.TLS, token: cfg.Token}
	made.ctx, made.end = context.WithCancel(context.Background())
	return made, nil
}

// Prepare makes another configuration ready for the same address. The function that it returns puts it in place: for requests
// that come later, and for TLS handshakes. If the token is another one, it ends the requests in progress, such as streams.
func (s *Server) Prepare(cfg Config) (use func(), err error) {
	next, err := s.newService(cfg)
	if err != nil {
		return nil, err
	}
	return func() {
		if old := s.service.Load(); old.token == next.token {
			next.ctx, next.end = old.ctx, old.end
		} else {
			defer old.end()
		}
		s.service.Store(next)
	}, nil
}

// serve serves a request as the current configuration says. A connection that was accepted before TLS was turned on or off
// is closed.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if c := connOf(r); c != nil {
		if !s.conns.begin(c) {
			return
		}
		defer s.conns.end(c)
	}
	now := s.service.Load()
	if (now.tls != nil) != (r.TLS != nil) {
		w.Header().Set("Connection", "close")
		writeText(w, http.StatusMisdirectedRequest, "TLS was turned on or off for this server: connect again")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(now.ctx, cancel)()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // every writer of an http.Server has it
	now.handler.ServeHTTP(w, r.WithContext(ctx))
}

// writeTimeout bounds how long a client may take to read a response. Streams and profiles set it again.
const writeTimeout = 30 * time.Second

func (s *Server) routes(cfg Config, formats *format.ByType) http.Handler {
	open := http.NewServeMux()
	open.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "pong") })
	open.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
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
		case outages(cfg) != "":
			writeText(w, http.StatusOK, "ready, but "+outages(cfg))
		default:
			writeText(w, http.StatusOK, "ready")
		}
	})
	open.Handle("GET /metrics", s.metricsHandler(cfg))
	if cfg.ReadOnly {
		return open
	}
	if cfg.Token == "" && cfg.LocalToken != "" {
		open.HandleFunc("GET "+pki.ProofPath, func(w http.ResponseWriter, r *http.Request) { writeProof(w, r, cfg.LocalToken) })
	}
	mux := http.NewServeMux()
	actions := requireAction(cfg, mux) // also what a route with another method than GET forgets
	open.Handle("/", s.costly.limit(&s.refused, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			mux.ServeHTTP(w, r)
		} else {
			actions.ServeHTTP(w, r)
		}
	})))
	profiles := http.NewServeMux()
	profiles.HandleFunc("GET /debug/pprof/", pprof.Index)
	profiles.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	profiles.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.Handle("GET /debug/pprof/", s.profiles.limit(&s.refused, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text := r.URL.Query().Get("seconds"); text != "" && !sampled(w, text) {
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(profileTimeout))
		profiles.ServeHTTP(w, r)
	})))
	if cfg.Tap != nil {
		mux.Handle("GET /api/stream", &liveMessages{tap: cfg.Tap, show: shown{formats}})
	}
	if cfg.Streams != nil {
		(&storedStreams{streams: cfg.Streams, show: shown{formats}}).routes(mux, cfg)
	}
	if cfg.Upgrade != nil {
		upgradeRoute(mux, cfg)
	}
	if cfg.Archiver != nil {
		archiveRoutes(mux, cfg)
	}
	if cfg.Functions != nil {
		functionRoutes(mux, cfg.Functions)
	}
	if cfg.Links != nil {
		mux.HandleFunc("GET /api/links", linksHandler(cfg.Links))
	}
	if cfg.Bridges != nil {
		mux.HandleFunc("GET /api/bridges", bridgesHandler(cfg.Bridges))
	}
	if cfg.Proxy != nil {
		mux.HandleFunc("GET /api/proxy", proxyHandler(cfg.Proxy))
	}
	if cfg.Endpoints != nil {
		endpointRoutes(mux, cfg)
	}
	if cfg.Connections != nil {
		connectionRoutes(mux, cfg)
	}
	if cfg.LogLevels != nil {
		logLevelRoutes(mux, cfg)
	}
	if cfg.Configuration != nil {
		configurationRoute(mux, cfg)
	}
	samplingRoutes(mux, cfg)
	if cfg.Plan != nil {
		mux.Handle("POST "+planPath, requireAction(cfg, &plans{compute: cfg.Plan}))
	}
	mux.Handle("GET /", dashboard())
	return open
}

// profileTimeout bounds the time of a profile, which the client chooses up to longestSample.
const profileTimeout = 10 * time.Minute

// Addr returns the address the server listens on.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// SetReady sets whether /ready responds 200.
func (s *Server) SetReady(ready bool) { s.ready.Store(ready) }

// URL returns the address of the dashboard.
func (s *Server) URL() string {
	scheme := "http"
	if s.service.Load().tls != nil {
		scheme = "https"
	}
	return scheme + "://" + s.Addr().String() + "/"
}

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
	s.service.Load().end()
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
