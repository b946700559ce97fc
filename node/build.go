package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/cpu"
	"example.com/ferry/edge"
	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
	enginememory "example.com/ferry/engine/memory"
	"example.com/ferry/engine/nats"
	"example.com/ferry/format"
	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/handover"
	"example.com/ferry/loop"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
	"example.com/ferry/node/live"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/grpc"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/unix"
	"example.com/ferry/transport/utp"
	"example.com/ferry/transport/websocket"
)

// Extensions are the parts of a node that a program chooses. There is no registry: a node has the formats, transports and
// functions that are listed here.
type Extensions struct {
	Formats    []format.Format // read payloads: to validate, filter, route and show them
	Transports []Transport     // nil means Transports()
	Engines    []Engine        // of streams that are stored; nil means Engines()
	Functions  []Function      // what a configuration may name in functions[].run
	Worker     []string        // command line of a program that calls worker.Serve with the Function whose name is appended
	Log        *slog.Logger    // nil means standard error, with the level and format of the configuration
	Sockets    *handover.Set   // sockets of the process before this one; nil means none
	Exclusive  func() error    // called before the node opens files that one process at a time may have; may be nil
	Upgrade    admin.Upgrade   // replaces this process by another one; nil means that it cannot
	Version    string          // of the program, for the metric ferry_build_info; empty means that there is none
	Phases     func(Phase)     // called at the start of each phase, from one goroutine at a time; must return soon; may be nil
}

// Function is a function that the program brings.
type Function struct {
	Name string
	New  func() ferry.Handler // called each time the function is started
}

// Functions returns the functions of this module. formats are those that checksum reads.
func Functions(formats []format.Format) []Function {
	return []Function{
		{Name: "averages", New: func() ferry.Handler { return new(live.Averages) }},
		{Name: "alerts", New: func() ferry.Handler { return new(live.Alerts) }},
		{Name: "checksum", New: func() ferry.Handler { return live.Checksum{Formats: formats} }},
	}
}

// Transport is a transport and how it is made for one listener or client.
type Transport struct {
	transport.Descriptor
	New func(Security) transport.Transport
}

// Transports returns the transports of this module that connect processes.
func Transports() []Transport {
	return []Transport{
		{transport.QUIC, func(s Security) transport.Transport {
			return quic.New(&quic.Config{
				ServerTLS: s.Server, ClientTLS: s.Client, ResetKey: s.ResetKey,
				HandshakeTimeout: s.HandshakeTimeout, ConnWindow: s.ReceiveWindow, ListenUDP: s.ListenUDP,
			})
		}},
		{transport.TLS, func(s Security) transport.Transport {
			return tcp.NewTLS(&tcp.Config{ServerTLS: s.Server, ClientTLS: s.Client, HandshakeTimeout: s.HandshakeTimeout, Listen: s.Listen})
		}},
		{transport.TCP, func(s Security) transport.Transport { return tcp.New(&tcp.Config{Listen: s.Listen}) }},
		{transport.Unix, func(s Security) transport.Transport { return unix.New(&unix.Config{Listen: s.Listen}) }},
		{transport.WSS, func(s Security) transport.Transport {
			return websocket.NewTLS(&websocket.Config{ServerTLS: s.Server, ClientTLS: s.Client, HandshakeTimeout: s.HandshakeTimeout, Listen: s.Listen})
		}},
		{transport.WS, func(s Security) transport.Transport {
			return websocket.New(&websocket.Config{HandshakeTimeout: s.HandshakeTimeout, Listen: s.Listen})
		}},
		{transport.GRPCS, func(s Security) transport.Transport {
			return grpc.NewTLS(&grpc.Config{ServerTLS: s.Server, ClientTLS: s.Client, HandshakeTimeout: s.HandshakeTimeout, Listen: s.Listen})
		}},
		{transport.GRPC, func(s Security) transport.Transport {
			return grpc.New(&grpc.Config{HandshakeTimeout: s.HandshakeTimeout, Listen: s.Listen})
		}},
		{utp.Descriptor(), func(s Security) transport.Transport {
			return utp.New(&utp.Config{HandshakeTimeout: s.HandshakeTimeout})
		}},
	}
}

// Engines returns the engines of this module.
func Engines() []Engine {
	cluster := func(ctx context.Context, s EngineSettings) (engine.Engine, error) {
		trust, err := s.trust()
		if err != nil {
			return nil, err
		}
		return nats.Connect(ctx, nats.ClusterConfig{Address: s.Address, CredentialsFile: s.CredentialsFile, TLS: trust, Name: s.Name, Log: s.Log})
	}
	return []Engine{
		{config.Memory, func(context.Context, EngineSettings) (engine.Engine, error) { return enginememory.New(), nil }},
		{config.Embedded, func(_ context.Context, s EngineSettings) (engine.Engine, error) {
			return file.Open(file.Config{Dir: filepath.Join(s.Dir, logDir), Sync: s.Sync, Interval: s.Interval, Log: s.Log})
		}},
		{config.NATS, cluster},
		{config.NATSTLS, cluster},
	}
}

func (x *Extensions) engines() []Engine {
	if x.Engines == nil {
		return Engines()
	}
	return x.Engines
}

// Program returns what a configuration may name.
func (x *Extensions) Program() config.Program {
	p := config.Program{Functions: names(x.Functions), Formats: x.Formats}
	if x.Transports != nil {
		p.Transports = make([]transport.Descriptor, len(x.Transports))
		for i, t := range x.Transports {
			p.Transports[i] = t.Descriptor
		}
	}
	for _, e := range x.engines() {
		p.Engines = append(p.Engines, e.EngineDescriptor)
	}
	return p
}

// Build makes a node and binds its addresses: a busy port or a wrong file is an error here. The caller calls Run or Close.
func Build(cfg *config.Config, extensions Extensions) (_ *Node, err error) {
	if extensions.Transports == nil {
		extensions.Transports = Transports()
	}
	n := &Node{extensions: extensions, log: extensions.Log, ready: make(chan struct{}), logins: edge.NewLogins(edge.LoginCallback{URL: cfg.MQTT.LoginURL, Timeout: cfg.MQTT.LoginTimeout})}
	if err := cfg.Check(extensions.Program()); err != nil {
		return nil, err
	}
	_ = cfg.TakeCompiled() // newProxy compiles it with settings of this process
	n.cfg.Store(cfg)
	if n.log == nil {
		n.output = newLog(cfg.Log, os.Stderr)
		n.log = n.output.logger()
	}
	n.certs, n.vitals = certs.NewStore(n.log), newVitals(n.log)
	n.reloads.begin(time.Now())
	defer func() {
		if err != nil {
			n.Close()
		}
	}()

	// 1. The node's identity: CA, certificate and local token, made on the first start.
	if err = n.openIdentity(cfg); err != nil {
		return nil, err
	}

	// 2. The admin servers. /ping responds from here on, and /ready once the node runs: an engine may take long to recover what it
	// stores.
	if n.admin, n.metrics, err = n.newAdminServers(cfg); err != nil {
		return nil, err
	}
	if extensions.Exclusive == nil {
		n.serveAdminServers()
	}

	// 3 to 10. Streams, if there is a listener: buildStreams has the parts that a message meets.
	if len(cfg.Listeners) > 0 {
		if err = n.buildStreams(); err != nil {
			return nil, err
		}
	}

	// 11. The proxy. It has its own listeners, loops and connections, and accepts requests from here on.
	if cfg.Proxy != nil {
		if n.proxy, err = n.newProxy(cfg.Proxy); err != nil {
			return nil, err
		}
	}

	// 12. What the admin servers show: the parts above.
	if err = n.showParts(cfg); err != nil {
		return nil, err
	}
	if extensions.Exclusive != nil { // until here the process before this one responds
		n.serveAdminServers()
	}
	return n, nil
}

// buildStreams makes the parts that carry messages, in the order in which a message meets them.
func (n *Node) buildStreams() error {
	cfg := n.config()
	if n.extensions.Exclusive != nil {
		loop.Reserve() // while the process before this one still has the streams
		if err := n.extensions.Exclusive(); err != nil {
			return err
		}
	}

	// 3. What one node at a time writes. Then the clients' identities, and the functions that were deployed, which have one.
	var err error
	if n.data, err = lockData(cfg.DataDir); err != nil {
		return err
	}
	if n.deployed, err = n.openDeployed(cfg); err != nil {
		return err
	}
	if n.identities, err = n.knownIdentities(cfg); err != nil {
		return err
	}

	// 4. The engine and its streams: what it stores is recovered before a client connects.
	if err = n.openStreams(cfg); err != nil {
		return err
	}

	// 5. The broker: every message passes through it, from the connection it arrives on to those that observe its tag.
	streams := brokerLimits(cfg.Limits)
	streams.Identify, streams.Formats, streams.Log = n.identities.Identify, n.extensions.Formats, n.log
	if n.nodeID, err = nodeID(cfg.DataDir); err != nil {
		return err
	}
	streams.Node = n.nodeID
	streams.FirstID = ferry.SourceID(rand.Uint32()) // an ID of an earlier process names no client of this one
	if n.streams != nil {
		streams.Stored, streams.Holder = n.streams.brokerStreams(n.streams.all()), n.streams.holder
	}
	if n.broker, err = broker.New(streams); err != nil {
		return err
	}
	n.broker.SetIdentities(n.identities) // so that the broker knows which services a client may serve

	// 6. The listeners, and one within this process for the node's own clients.
	for _, each := range cfg.Listeners {
		l, err := n.newListener(each, cfg)
		if err != nil {
			return err
		}
		n.listeners = append(n.listeners, l)
	}
	inside := memory.New(&memory.Config{Buffer: insideBuffer})
	if n.internal, err = inside.Listen(context.Background(), insideAddr); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	n.inside = inside

	// 7. The functions that the node runs: clients like any other. The heavy ones share a pool.
	if cfg.Heavy() {
		if err = n.makePool(cfg); err != nil {
			return err
		}
	}
	n.functions = &functions{}
	for _, c := range wantedFunctions(cfg) {
		f, err := n.newFunction(c)
		if err != nil {
			return err
		}
		n.functions.list = append(n.functions.list, f)
	}
	n.addDeployed(cfg)

	// 8. The links to other nodes, which get what is published on their tags.
	n.links = &links{section: "forward", noun: "link", log: n.log}
	if err := n.links.open(len(cfg.Forward), func(i int) (*forwardLink, error) { return n.newLink(cfg.Forward[i], cfg) }); err != nil {
		return err
	}

	// 9. The bridges to other MQTT brokers, which publish on tags and get what is published on others.
	n.bridges = &bridges{section: "bridges", noun: "bridge", log: n.log}
	n.bridgesInside = n.broker.NewLocalListener(bridgeAddr{}, broker.ValidateFull)
	if err := n.bridges.open(len(cfg.Bridges), func(i int) (*bridge, error) { return n.newBridge(cfg.Bridges[i], cfg) }); err != nil {
		return err
	}
	n.setForwarders()

	// 10. Services of other servers: the node is the client that serves them.
	return n.openOutside(cfg)
}

// makePool makes the pool of heavy functions.
func (n *Node) makePool(cfg *config.Config) (err error) {
	n.pool, err = cpu.New(cpu.Config{Tokens: cfg.CPU.Tokens, Queue: cfg.CPU.Queue})
	return err
}

// brokerLimits returns the limits of the broker; the rest of the Config is missing.
func brokerLimits(l config.Limits) broker.Config {
	return broker.Config{
		MaxFrame: int(l.MaxFrame), MaxConnections: l.MaxConnections, MaxTags: l.MaxTags, MaxSubs: l.MaxSubscriptions,
		Window: int(l.Window), Queue: int(l.Queue),
		MaxCalls: l.MaxCalls, CallWindow: int(l.CallWindow), CallStreamWindow: int(l.CallStreamWindow), CallQueue: int(l.CallQueue),
		HandshakeTimeout: l.HandshakeTimeout, Heartbeat: l.Heartbeat, WriteTimeout: l.WriteTimeout,
	}
}

// liveFunctions returns the functions of live.functions. One that falls behind drops its oldest readings, so that it does not
// slow the sensors.
func liveFunctions() []config.Function {
	return []config.Function{
		{Name: "averages", Run: "averages", Observe: []string{"sensors/#"}, Policy: config.DropOldest, CPU: config.Light},
		{Name: "alerts", Run: "alerts", Observe: []string{"averages/#"}, Where: live.AlertsWhere, Policy: config.DropOldest, CPU: config.Light},
	}
}

// tap subscribes for one stream of the admin server.
func (n *Node) tap(ctx context.Context, filters []string, deliver func(*ferry.Message)) error {
	client, err := n.dial(ctx, "dashboard")
	if err != nil {
		return err
	}
	defer closeQuietly(client)
	err = client.Run(ctx, stream.Function{
		Observe: filters, Policy: stream.DropOldest, Concurrency: 1,
		Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error { deliver(in); return nil }),
	})
	if ctx.Err() != nil || errors.Is(err, stream.ErrClosed) {
		return nil
	}
	return err
}

// tagLevel returns name as one level of a tag.
func tagLevel(name string) string {
	return strings.NewReplacer("/", "-", "+", "-", "#", "-").Replace(name)
}
