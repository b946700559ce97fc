package node

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"example.com/ferry"
	"example.com/ferry/cpu"
	"example.com/ferry/format"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
	"example.com/ferry/node/live"
	"example.com/ferry/proxy"
	"example.com/ferry/stream"
	"example.com/ferry/stream/hop"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/unix"
)

// Sets are what a node is made of and a program can choose. There are no registries: what is not in a set is not there.
type Sets struct {
	Formats    []format.Format // what payloads can be validated, filtered, routed by and shown as
	Transports []Transport     // nil means Transports()
	Functions  []Function      // what configurations can name by run
	Worker     []string        // runs the Function whose name follows in a process of its own: a program that calls worker.Serve
	Log        *slog.Logger    // nil means standard error, as the configuration says
}

// Function is a function that the program brings.
type Function struct {
	Name string
	New  func() ferry.Handler // called each time the function is started
}

// Transport makes the transport of one scheme from what the node trusts and is trusted by.
type Transport func(security Security) transport.Transport

// Transports returns all that configurations can name.
func Transports() []Transport {
	return []Transport{
		func(s Security) transport.Transport {
			return quic.New(&quic.Config{
				ServerTLS: s.Server, ClientTLS: s.Client, ResetKey: s.ResetKey,
				HandshakeTimeout: s.HandshakeTimeout, ConnWindow: s.ReceiveWindow,
			})
		},
		func(s Security) transport.Transport {
			return tcp.NewTLS(&tcp.Config{ServerTLS: s.Server, ClientTLS: s.Client, HandshakeTimeout: s.HandshakeTimeout})
		},
		func(Security) transport.Transport { return tcp.New(nil) },
		func(Security) transport.Transport { return unix.New(nil) },
	}
}

// Build puts a node together and binds its addresses, so that what cannot work fails here. Run must follow, or Close.
func Build(cfg *config.Config, sets Sets) (_ *Node, err error) {
	if sets.Transports == nil {
		sets.Transports = Transports()
	}
	n := &Node{cfg: cfg, sets: sets, log: sets.Log, ready: make(chan struct{})}
	if err := cfg.Check(n.program()); err != nil {
		return nil, err
	}
	if n.log == nil {
		n.log = newLog(cfg.Log, os.Stderr)
	}
	defer func() {
		if err != nil {
			n.Close()
		}
	}()

	// 1 to 5. Streams, if anybody can connect to them: what a message meets is below.
	if len(cfg.Listeners) > 0 {
		if err := n.buildStreams(); err != nil {
			return nil, err
		}
	}

	// 6. The proxy, which has listeners, loops and connections of its own, and takes requests from here on.
	if cfg.Proxy != nil {
		if n.proxy, err = proxy.New(cfg.Proxy, sets.Formats, n.log); err != nil {
			return nil, err
		}
	}

	// 7. The admin server, which shows all of the above.
	if cfg.Admin.Address != "" {
		if n.admin, err = admin.New(n.shown()); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// buildStreams makes what carries messages, in the order in which one meets it.
func (n *Node) buildStreams() error {
	cfg := n.cfg

	// 1. Who this node is: its CA, certificate and local token, made on the first start.
	var err error
	if n.id, err = pki.Open(pki.Config{Dir: cfg.DataDir, Names: certificateNames(cfg)}); err != nil {
		return err
	}

	// 2. Who its clients are.
	known, err := credentials(cfg.Identities, n.id)
	if err != nil {
		return err
	}
	identify, err := hop.Known(known)
	if err != nil {
		return err
	}

	// 3. The hop: every message passes through it, from the connection it arrives on to those that observe its tag.
	l := cfg.Limits
	n.hop, err = hop.New(hop.Config{
		Identify: identify, Formats: n.sets.Formats, Log: n.log,
		MaxFrame: int(l.MaxFrame), MaxConnections: l.MaxConnections, MaxTags: l.MaxTags, MaxSubs: l.MaxSubscriptions,
		Window: int(l.Window), Queue: int(l.Queue),
		HandshakeTimeout: l.HandshakeTimeout, Heartbeat: l.Heartbeat, WriteTimeout: l.WriteTimeout,
	})
	if err != nil {
		return err
	}

	// 4. The addresses clients connect to, and one within this process for what has no better way.
	for _, each := range cfg.Listeners {
		if err := n.listen(each, n.sets.Transports); err != nil {
			return err
		}
	}
	inside := memory.New(nil)
	if err := n.bind(inside, "node", hop.ValidateFull); err != nil {
		return err
	}
	n.inside = endpoint{inside, "node"}

	// 5. The functions the node runs itself: clients like any other. The heavy ones share a pool.
	if cfg.Heavy() {
		if n.pool, err = cpu.New(cpu.Config{Tokens: cfg.CPU.Tokens, Queue: cfg.CPU.Queue}); err != nil {
			return err
		}
	}
	if cfg.Live.Functions {
		if err := n.add(liveFunctions()...); err != nil {
			return err
		}
	}
	return n.add(cfg.Functions...)
}

// shown is what the admin server shows: of what the node has not, nothing.
func (n *Node) shown() admin.Config {
	c := admin.Config{Address: n.cfg.Admin.Address, Hosts: n.cfg.Admin.Hosts, Formats: n.sets.Formats, Log: n.log, CPU: n.cpuStats()}
	if n.hop != nil {
		c.Snapshot, c.Tap, c.Functions = n.hop.Snapshot, n.tap, n.functions
	}
	if n.proxy != nil {
		c.Proxy = n.proxy.Snapshot
	}
	return c
}

// program is what a configuration of the node may name.
func (n *Node) program() config.Program {
	return config.Program{Functions: names(n.sets.Functions), Formats: n.sets.Formats}
}

// liveFunctions are what live.functions turns on. One that falls behind loses the oldest readings instead of holding up the
// sensors.
func liveFunctions() []config.Function {
	return []config.Function{
		{Name: "averages", Run: "averages", Observe: []string{"sensors/#"}, Policy: config.DropOldest, CPU: config.Light},
		{Name: "alerts", Run: "alerts", Observe: []string{"averages/#"}, Where: live.AlertsWhere, Policy: config.DropOldest, CPU: config.Light},
	}
}

// live publishes the machine's sensors until ctx ends.
func (n *Node) live(ctx context.Context) error {
	client, err := n.dial(ctx, "sensors")
	if err != nil {
		return err
	}
	defer closing(client)
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return live.Sensors{Host: tagLevel(host), Interval: n.cfg.Live.Interval, Log: n.log}.Run(ctx, client)
}

// tap is what the admin server's streams get their messages from.
func (n *Node) tap(ctx context.Context, filters []string, deliver func(*ferry.Message)) error {
	client, err := n.dialTo(ctx, n.inside, "dashboard")
	if err != nil {
		return err
	}
	defer closing(client)
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
