package proxytrial

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/keypair"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/bench/internal/routeset"
)

// Load describes the client, the protocols and the cores.
type Load struct {
	Down, Up       keepalive.Wire
	TLS, UpTLS     bool // TLS between the client and the proxy, and between the proxy and the backend
	Conns, Streams int
	Size           int           // bytes of each body
	Routes         routeset.Set  // if Down is keepalive.Routed
	Rate           float64       // requests a second; 0: all connections are busy
	Hops           int           // 1 or 2; between two proxies the protocol is that of the client, in cleartext
	Warm           time.Duration // how long requests are sent before anything is measured, at a low rate and then at Rate; 0 means 200 ms
	Proxy          []int         // cores of the proxies
	Ends           []int         // cores of client and backend
}

// Setup returns the part of a proxy's setup that depends on the load, for the hop that the client is connected to (0) or the
// one behind it.
func (l Load) Setup(hop int, files keypair.Files) httpproxy.Setup {
	last := hop == l.Hops-1
	s := httpproxy.Setup{Cores: l.Proxy, Workers: len(l.Proxy), HTTP2: isHTTP2(l.Down), GRPC: isGRPC(l.Down)}
	s.UpstreamHTTP2 = last && isHTTP2(l.Up) || !last && s.HTTP2
	if l.TLS && hop == 0 {
		s.TLS = files
	}
	if l.UpTLS && last {
		s.UpstreamTLS = files
	}
	return s
}

func isGRPC(w keepalive.Wire) bool { return w == keepalive.GRPC || w == keepalive.GRPCStream }

func isHTTP2(w keepalive.Wire) bool { return w == keepalive.HTTP2 || isGRPC(w) }

// Starter starts a proxy. The caller stops it.
type Starter func(s httpproxy.Setup) (*pinned.Process, error)

// The names of the figures of a Trial. CPU time and memory are the proxies' own.
const (
	PerRequest = "CPU us/request"
	QPS        = "requests/s"
	Mean       = "mean ms"
	P50        = "p50 ms"
	P95        = "p95 ms"
	P99        = "p99 ms"
	Anonymous  = "anonymous MiB"
	CPU        = "CPU %"
	Failures   = "failures"
	Late99     = "p99 ms by which the client was late"
)

// Figures are the names of all figures, for harness.Question, but for the headline PerRequest.
var Figures = []string{QPS, Mean, P50, P95, P99, Anonymous, CPU, Failures, harness.Foreign, Late99}

// Trial is a started proxy with its client and its backend.
type Trial struct {
	load    Load
	backend *pinned.Process
	proxies []*pinned.Process // in the order of the hops
	pids    []int
	addr    string // of the first proxy, or of the backend without one
	client  *keepalive.Client
	sum     keepalive.Report
}

// Start starts all programs and sends requests for a moment. A nil start connects the client to the backend. The programs'
// directories are made in dir.
func Start(l Load, start Starter, dir string, files keypair.Files) (*Trial, error) {
	t := &Trial{load: l}
	if err := t.start(start, dir, files); err != nil {
		for _, p := range t.proxies {
			err = fmt.Errorf("%w; the proxy says %s", err, p.Output())
		}
		t.Close()
		return nil, err
	}
	return t, nil
}

// Open is Start for harness.Contender.Open.
func Open(l Load, start Starter, dir string, files keypair.Files) (harness.Session, error) {
	t, err := Start(l, start, dir, files)
	if err != nil {
		return nil, err // not a nil *Trial
	}
	return t, nil
}

func (t *Trial) start(start Starter, dir string, files keypair.Files) (err error) {
	at, err := keepalive.FreeAddrs(1 + 2*t.load.Hops)
	if err != nil {
		return err
	}
	b := keepalive.Backend{Wire: t.load.Up, Addr: at[0], Size: t.load.Size}
	spec := keepalive.Spec{Wire: t.load.Down, Addr: at[0], Conns: t.load.Conns, Streams: t.load.Streams, Size: t.load.Size, Routes: t.load.Routes, Cores: t.load.Ends, Protocol: "http/1.1"}
	if t.load.UpTLS {
		b.Cert, b.Key = files.Cert, files.Key
	}
	if t.load.TLS {
		spec.CA = files.Cert
	}
	if t.backend, err = b.Start(t.load.Ends); err != nil {
		return err
	}
	for hop := t.load.Hops - 1; hop >= 0 && start != nil; hop-- {
		s := t.load.Setup(hop, files)
		s.Listen, s.Admin, s.Upstream = at[1+2*hop], at[2+2*hop], spec.Addr
		if s.Dir, err = os.MkdirTemp(dir, "proxy-"); err != nil {
			return fmt.Errorf("proxytrial: %w", err)
		}
		p, err := start(s)
		if err != nil {
			return err
		}
		t.proxies = append([]*pinned.Process{p}, t.proxies...)
		spec.Addr = s.Listen
	}
	t.addr = spec.Addr
	if t.client, err = keepalive.StartClient(spec); err != nil {
		return err
	}
	// Few requests at first: some proxies open a connection to the backend for each request that comes before the first
	// connection is ready, and so hundreds of them.
	rates := []float64{500, t.load.Rate}
	if !slices.Contains([]keepalive.Wire{keepalive.HTTP1, keepalive.HTTP2, keepalive.Routed}, t.load.Down) {
		rates = rates[1:] // the other clients have no rate
	}
	for _, rate := range rates {
		if err := t.run(keepalive.Load{Rate: rate, Window: cmp.Or(t.load.Warm, warmTime)}); err != nil {
			return err
		}
	}
	t.sum.Times, t.sum.Late = keepalive.Histogram{}, keepalive.Histogram{}
	t.sum.Requests, t.sum.CPU, t.sum.Window = 0, 0, 0
	for _, p := range t.proxies { // read under load: a program may listen before it has all its processes
		t.pids = append(t.pids, p.Family()...)
	}
	return nil
}

const warmTime = 200 * time.Millisecond

const longestSlice = time.Second

// Run measures a slice. It is longer than d where requests take long, so that it holds several of each stream.
func (t *Trial) Run(d time.Duration) error {
	d = max(d, 20*time.Millisecond, min(10*t.sum.Times.Mean(), longestSlice))
	return t.run(keepalive.Load{Rate: t.load.Rate, Warm: d / 10, Window: d, PIDs: t.pids})
}

func (t *Trial) run(l keepalive.Load) error {
	r, err := t.client.Run(l)
	if err != nil {
		return err
	}
	t.sum.Merge(r)
	return nil
}

// Figures returns the figures of all slices so far.
func (t *Trial) Figures() (harness.Figures, error) {
	r := &t.sum
	f := harness.Figures{
		PerRequest: 0, CPU: 100 * r.CPU.Seconds() / r.Window.Seconds(), Failures: float64(r.Failures),
		QPS:  float64(r.Requests) / r.Window.Seconds(),
		Mean: ms(r.Times.Mean()), P50: ms(r.Times.Quantile(0.5)), P95: ms(r.Times.Quantile(0.95)), P99: ms(r.Times.Quantile(0.99)),
	}
	if r.Requests > 0 {
		f[PerRequest] = float64(r.CPU.Microseconds()) / float64(r.Requests)
	}
	if r.Late.N > 0 {
		f[Late99] = ms(r.Late.Quantile(0.99))
	}
	anonymous, err := t.Anonymous()
	f[Anonymous] = anonymous / (1 << 20)
	return f, err
}

// Addr returns the address that the client is connected to.
func (t *Trial) Addr() string { return t.addr }

// FirstFailure describes the first failure, or is empty.
func (t *Trial) FirstFailure() string { return t.sum.Failure }

// Close stops all programs.
func (t *Trial) Close() {
	if t.client != nil {
		t.client.End()
	}
	for _, p := range t.proxies {
		p.Stop()
	}
	if t.backend != nil {
		t.backend.Stop()
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// inFlight is how many connections at a time carry their request in IdleMemory.
const inFlight = 20

// IdleMemory sends one request on each connection of an HTTP/1.1 client, and returns the proxies' anonymous memory after a rest,
// in bytes.
func (t *Trial) IdleMemory(rest time.Duration) (anonymous float64, err error) {
	if err := t.run(keepalive.Load{Once: inFlight, Window: time.Minute}); err != nil {
		return 0, err
	}
	time.Sleep(rest)
	return t.Anonymous()
}

// Anonymous returns the proxies' anonymous memory now, in bytes. It may overlap with Run.
func (t *Trial) Anonymous() (bytes float64, err error) {
	for _, p := range t.proxies {
		m, err := p.Memory()
		if err != nil {
			return 0, err
		}
		bytes += float64(m.Anon)
	}
	return bytes, nil
}

// More opens n more connections.
func (t *Trial) More(n int) error { return t.client.More(n) }

// Check sends requests for a window, and longer on a busy machine, until there are responses. A failure is an error.
func (t *Trial) Check(window time.Duration) error {
	r, err := t.client.RunUntil(keepalive.Load{Rate: t.load.Rate, Window: window, PIDs: t.pids}, 1)
	if err != nil {
		return err
	}
	if t.sum.Merge(r); t.sum.Failures > 0 || r.Requests == 0 {
		return fmt.Errorf("proxytrial: %d requests, %d failures: %s", r.Requests, t.sum.Failures, t.sum.Failure)
	}
	return nil
}
