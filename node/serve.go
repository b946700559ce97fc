package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"time"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/peer"
	"example.com/ferry/node/config"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/rpc/relay"
	"example.com/ferry/transport"
)

// maxCallMessage is the largest message of a call that the node passes on to or from another protocol, in bytes.
const maxCallMessage = 16 << 20

// outsideWindow is what a server may send in a call before it is read, in bytes. The window of the connection, which all callers share, has room for that of each
// call: one that reads nothing delays no other one.
const outsideWindow = 64 << 10

// outside is a service of an ordinary server, which the node offers to its clients. The node is one of these: it serves the calls by passing them on.
type outside struct {
	cfg      config.Serve
	node     *Node
	tls      *certs.Client // nil without TLS
	upstream relay.Upstream
	stop     context.CancelFunc // nil before start
}

var _ call.Service = (*outside)(nil)

// newOutside makes a service that is not offered yet.
func (n *Node) newOutside(c config.Serve) (*outside, error) {
	isGRPC, carrier, addr := c.Server()
	i := slices.IndexFunc(n.extensions.Transports, func(t Transport) bool { return t.Scheme == carrier })
	if i < 0 {
		return nil, fmt.Errorf("to: this program has no transport %s", carrier)
	}
	o := &outside{cfg: c, node: n}
	if carrier == transport.TLS.Scheme {
		var err error
		if o.tls, err = n.certs.Client(&tls.Config{MinVersion: tls.VersionTLS12}, certs.Files{}, c.CAFile, 0); err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
	}
	var protocol call.Protocol = grpc.Protocol{Config: &grpc.Config{MaxMessage: maxCallMessage, StreamWindow: outsideWindow, ConnWindow: outsideWindow * int(peer.DefaultCallLimits.Calls)}}
	if !isGRPC {
		protocol = jsonrpc.Protocol{MaxMessage: maxCallMessage, Plain: true}
	}
	o.upstream = relay.Upstream{Name: c.To, Unary: !isGRPC, Dial: func(ctx context.Context) (call.Conn, error) {
		var s Security
		if o.tls != nil {
			s.Client = o.tls.Config() // the file may have changed
		}
		return protocol.Dial(ctx, n.extensions.Transports[i].New(s), addr)
	}}
	return o, nil
}

// Method returns nil: the server knows its methods.
func (o *outside) Method(string) call.Method { return nil }

// Serve passes on a call.
func (o *outside) Serve(ctx context.Context, _ call.Method, s call.ServerStream) {
	head := s.Head()
	o.upstream.Serve(ctx, s, &call.Head{Method: head.Method, Content: head.Content, Deadline: head.Deadline, Metadata: head.Metadata})
}

// offerPause is the time between two attempts to offer a service.
const offerPause = time.Second

// start offers the service until stop is called or the node ends.
func (o *outside) start(s *serving) {
	var ctx context.Context
	ctx, o.stop = context.WithCancel(s.ctx)
	s.parts.start("service "+o.cfg.Service, func() {
		defer o.close()
		for ctx.Err() == nil {
			if err := o.offer(ctx); err != nil && ctx.Err() == nil {
				o.node.log.Error("a service is not offered: the node tries again", "service", o.cfg.Service, "err", err)
				select {
				case <-time.After(offerPause):
				case <-ctx.Done():
				}
			}
		}
	})
}

// offer offers the service over one connection. When ctx ends, it completes the calls in progress.
func (o *outside) offer(ctx context.Context) error {
	n := o.node
	dialing, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := n.dial(dialing, "serve "+o.cfg.Service)
	if err != nil {
		return err
	}
	defer closeQuietly(client)
	return native.Protocol{MaxMessage: maxCallMessage, Log: n.log}.Serve(ctx, client, []string{o.cfg.Service}, o)
}

// awaitOffers waits until the services of other servers are offered, at most startTimeout: a node that is ready takes their calls.
func (n *Node) awaitOffers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for wanted := len(n.outside); wanted > 0; {
		wanted = len(n.outside)
		for _, s := range n.broker.Services() {
			if s.Instances > 0 && slices.ContainsFunc(n.outside, func(o *outside) bool { return o.cfg.Service == s.Name }) {
				wanted--
			}
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return // start logs why
		}
	}
}

// close releases what a service has that is not offered any more.
func (o *outside) close() {
	ended, cancel := context.WithCancel(context.Background())
	cancel() // offer has completed the calls
	o.upstream.Close(ended)
	if o.tls != nil {
		o.tls.Close()
	}
}

// openOutside makes the first services.
func (n *Node) openOutside(cfg *config.Config) error {
	for i, c := range cfg.Serve {
		o, err := n.newOutside(c)
		if err != nil {
			return fmt.Errorf("node: serve[%d].%w", i, err)
		}
		n.outside = append(n.outside, o)
	}
	return nil
}

// prepareServe prepares the services of the next configuration.
func (n *Node) prepareServe(r *reload) (change, error) {
	if slices.Equal(r.last.Serve, r.next.Serve) {
		return change{}, nil
	}
	var list, created []*outside
	var added, removed, changed []string
	gone := slices.Clone(n.outside)
	abort := func() {
		for _, o := range created {
			o.close()
		}
	}
	for i, c := range r.next.Serve {
		at := slices.IndexFunc(gone, func(o *outside) bool { return o.cfg == c })
		if at >= 0 {
			list, gone = append(list, gone[at]), slices.Delete(gone, at, at+1)
			continue
		}
		o, err := n.newOutside(c)
		if err != nil {
			abort()
			return change{}, fmt.Errorf("serve[%d].%w", i, err)
		}
		list, created = append(list, o), append(created, o)
		if slices.ContainsFunc(r.last.Serve, func(was config.Serve) bool { return was.Service == c.Service }) {
			changed = append(changed, c.Service)
		} else {
			added = append(added, c.Service)
		}
	}
	for _, o := range gone {
		if !slices.Contains(changed, o.cfg.Service) {
			removed = append(removed, o.cfg.Service)
		}
	}
	return change{differences(added, removed, changed), func() {
		n.outside = list
		for _, o := range created { // before those that they replace end, so that the service is always there
			o.start(n.serving)
		}
		for _, o := range gone {
			o.stop()
		}
	}, abort}, nil
}
