package node

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/descriptors"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
	"example.com/ferry/proxy/upstream"
	"example.com/ferry/transport"
)

// Security configures how a transport identifies the node and verifies its peers.
type Security struct {
	Server           *tls.Config // for listening; handshakes use its GetConfigForClient, as the certificates may change
	Client           *tls.Config // for dialing: trusts the local CA only
	ResetKey         *[32]byte   // for QUIC's stateless reset
	HandshakeTimeout time.Duration
	ReceiveWindow    int // bytes a client may send ahead of what is read; 0 means the transport's default

	Listen    transport.ListenFunc                                                 // binds addresses; nil means the operating system
	ListenUDP func(address string) (conn *net.UDPConn, released func(), err error) // binds addresses of UDP; nil means the operating system
}

// listener is a bound address of the configuration.
type listener struct {
	cfg    config.Listener
	bound  bound
	served server
	tls    atomic.Pointer[certs.Server] // what new handshakes use
}

// bound is a bound address.
type bound interface {
	Addr() net.Addr
	Close() error
}

// server serves the clients of a listener: a broker.Listener, or one of another protocol.
type server interface {
	Serve(ctx context.Context) error
	Drain(ctx context.Context) error
	SetValidation(v broker.Validation)
	SetAnonymous(identity string)
	CloseCertified(valid func(*tls.ConnectionState) bool)
}

// newListener binds one listener of the configuration.
func (n *Node) newListener(c config.Listener, cfg *config.Config) (_ *listener, err error) {
	if c.Edge() {
		return n.newEdge(c, cfg)
	}
	scheme, addr, _ := strings.Cut(c.Address, "://")
	carrier := cmp.Or(config.Carrier(scheme), scheme)
	i := slices.IndexFunc(n.extensions.Transports, func(t Transport) bool { return t.Scheme == carrier })
	if i < 0 {
		return nil, fmt.Errorf("node: listener %s: this program has no transport %s", c.Address, carrier)
	}
	l := &listener{cfg: c}
	secured, err := n.certificates(c)
	if err != nil {
		return nil, err
	}
	l.tls.Store(secured)
	defer func() {
		if err != nil {
			secured.Close()
		}
	}()
	s := Security{
		Server:   &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: l.handshakeConfig},
		ResetKey: n.id.ResetKey(), HandshakeTimeout: cfg.Limits.HandshakeTimeout, ReceiveWindow: int(c.ReceiveWindow),
		Listen: n.listenSocket, ListenUDP: n.listenUDP,
	}
	if s.Client, err = pki.ClientTLS(filepath.Join(cfg.DataDir, pki.CAFile)); err != nil {
		return nil, fmt.Errorf("node: listener %s: %w", c.Address, err)
	}
	validate, err := broker.ParseValidation(string(c.Validate))
	if err != nil {
		return nil, fmt.Errorf("node: listener %s: %w", c.Address, err)
	}
	t := n.extensions.Transports[i].New(s)
	if carrier != scheme {
		if err := n.listenCalls(l, t, addr, validate, cfg); err != nil {
			return nil, fmt.Errorf("node: listener %s: %w", c.Address, err)
		}
		return l, nil
	}
	inner, err := t.Listen(context.Background(), addr)
	if err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	l.bound, l.served = inner, n.broker.NewListener(inner, validate)
	return l, nil
}

// listenSocket is a transport.ListenFunc. While few descriptors are left, its listeners accept no client.
func (n *Node) listenSocket(ctx context.Context, lc *net.ListenConfig, network, address string) (net.Listener, error) {
	l, err := n.extensions.Sockets.Listen(ctx, lc, network, address)
	if err != nil {
		return nil, err
	}
	return descriptors.Listener(l), nil
}

// certificates reads the certificate and client CAs of a listener: the files that c names, or those of the node.
func (n *Node) certificates(c config.Listener) (*certs.Server, error) {
	var pairs []certs.Files
	if c.CertFile != "" {
		pairs = []certs.Files{{CertFile: c.CertFile, KeyFile: c.KeyFile}}
	}
	base := n.id.ServerTLS()
	if c.MinVersion == upstream.TLS12 {
		base.MinVersion, base.CipherSuites = tls.VersionTLS12, certs.Suites()
	}
	s, err := n.certs.Server(base, pairs, c.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("node: listener %s: %w", c.Address, err)
	}
	return s, nil
}

// handshakeConfig is a tls.Config.GetConfigForClient. A reload may have replaced l.tls.
func (l *listener) handshakeConfig(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	return l.tls.Load().Config().GetConfigForClient(hello)
}

// certified reports whether the CAs that l trusts now have issued the client's certificate.
func (l *listener) certified(state *tls.ConnectionState) bool {
	cfg, err := l.handshakeConfig(&tls.ClientHelloInfo{})
	if err != nil {
		return false
	}
	intermediates := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	_, err = state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: cfg.ClientCAs, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err == nil
}

// close closes a listener that is not served.
func (l *listener) close() {
	closeQuietly(l.bound)
	l.tls.Load().Close()
}

// certificateNames returns the names that clients connect by: those of the configuration and the hosts of the listeners
// and of the admin server.
func certificateNames(cfg *config.Config) []string {
	names := append(slices.Clone(cfg.Names), proxyNames(cfg)...)
	addresses := make([]string, len(cfg.Listeners), len(cfg.Listeners)+1)
	for i, l := range cfg.Listeners {
		_, addresses[i], _ = strings.Cut(l.Address, "://")
	}
	if cfg.Admin.OwnCertificate() {
		addresses = append(addresses, cfg.Admin.Address)
	}
	for _, addr := range addresses {
		host, _, err := net.SplitHostPort(addr)
		if err != nil || host == "" {
			continue
		}
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
			continue
		}
		names = append(names, host)
	}
	return names
}

// prepareNames makes a certificate with the next names. A certificate with more names than needed does no harm, so there is
// nothing to abort.
func (n *Node) prepareNames(r *reload) (change, error) {
	next := certificateNames(r.next)
	if n.id == nil && len(r.next.Listeners) == 0 && r.next.DataDir == r.last.DataDir { // otherwise the file is refused
		if err := n.openIdentity(r.next); err != nil {
			return change{}, err
		}
	}
	if n.id == nil || reflect.DeepEqual(next, certificateNames(r.last)) {
		return change{}, nil
	}
	if err := n.id.SetNames(next); err != nil {
		return change{}, fmt.Errorf("names: %w", err)
	}
	return change{what: "the names of the node's certificate", abort: func() {
		if err := n.id.SetNames(certificateNames(r.last)); err != nil {
			n.log.Warn("cannot restore the names of the node's certificate", "err", err)
		}
	}}, nil
}

// relisten is a prepared change of the listeners.
type relisten struct {
	node    *Node
	next    []*listener     // in the order of the configuration
	added   []*listener     // of next
	removed []*listener     // of the running ones
	changed []listenerPatch // of those that stay
}

// listenerPatch is a change of a listener whose address stays.
type listenerPatch struct {
	*listener
	cfg      config.Listener
	tls      *certs.Server // nil if the files stay
	validate broker.Validation
}

// prepareListeners binds the new addresses, and reads the certificates of listeners that change.
func (n *Node) prepareListeners(r *reload) (change, error) {
	c := &relisten{node: n}
	byAddress := map[string]*listener{}
	for _, l := range n.listeners {
		byAddress[l.cfg.Address] = l
	}
	var errs []error
	for i, next := range r.next.Listeners {
		at := fmt.Sprintf("listeners[%d]", i)
		old := byAddress[next.Address]
		delete(byAddress, next.Address)
		var err error
		if old == nil {
			var made *listener
			if made, err = n.newListener(next, r.next); err != nil {
				err = fmt.Errorf("%s: %w", at, err)
			} else {
				c.added, c.next = append(c.added, made), append(c.next, made)
			}
		} else {
			c.next = append(c.next, old)
			err = c.patch(old, next, at)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	for _, l := range n.listeners {
		if byAddress[l.cfg.Address] == l {
			c.removed = append(c.removed, l)
		}
	}
	if len(errs) > 0 {
		c.abort()
		return change{}, errors.Join(errs...)
	}
	return change{c.String(), func() { c.commit(r) }, c.abort}, nil
}

// patch prepares the change of a listener whose address stays.
func (c *relisten) patch(l *listener, next config.Listener, at string) (err error) {
	was := l.cfg
	if reflect.DeepEqual(was, next) {
		return nil
	}
	p := listenerPatch{listener: l, cfg: next}
	if p.validate, err = broker.ParseValidation(string(next.Validate)); err != nil {
		return fmt.Errorf("%s.validate: %w", at, err)
	}
	if was.CertFile != next.CertFile || was.MinVersion != next.MinVersion || was.KeyFile != next.KeyFile || was.ClientCAFile != next.ClientCAFile {
		if p.tls, err = c.node.certificates(next); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	c.changed = append(c.changed, p)
	return nil
}

// String describes the change for the log.
func (c *relisten) String() string {
	var changed []string
	for _, p := range c.changed {
		changed = append(changed, p.cfg.Address)
	}
	return differences(addressesOf(c.added), addressesOf(c.removed), changed)
}

func addressesOf(list []*listener) []string {
	all := make([]string, len(list))
	for i, l := range list {
		all[i] = l.cfg.Address
	}
	return all
}

// commit serves the new listeners and removes the old ones, whose clients get the time of drain.timeout to leave.
func (c *relisten) commit(r *reload) {
	n := c.node
	n.mu.Lock()
	n.listeners = c.next
	n.mu.Unlock()
	for _, p := range c.changed {
		before := p.listener.cfg
		p.listener.cfg = p.cfg
		p.served.SetValidation(p.validate)
		if s, ok := p.served.(interface{ SetOrigins(origins []string) }); ok {
			s.SetOrigins(p.cfg.HTTP.Origins)
		}
		if before.Anonymous != p.cfg.Anonymous {
			p.served.SetAnonymous(p.cfg.Anonymous)
		}
		if p.tls != nil {
			p.listener.tls.Swap(p.tls).Close()
		}
		if before.ClientCAFile != p.cfg.ClientCAFile {
			p.served.CloseCertified(p.certified)
		}
	}
	for _, l := range c.added {
		n.serving.serve(l.cfg.Address, l.served)
	}
	for _, l := range c.removed {
		n.serving.parts.start("removed listener "+l.cfg.Address, func() {
			ctx, cancel := context.WithTimeout(context.Background(), r.next.Drain.Timeout)
			defer cancel()
			if err := l.served.Drain(ctx); err != nil {
				n.log.Warn("a listener was removed before all its clients had left", "listener", l.cfg.Address, "err", err)
			}
			l.close()
		})
	}
}

// abort releases what prepareListeners has made. A listener for HTTP serves its clients as soon as it is bound: Drain disconnects them.
func (c *relisten) abort() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, l := range c.added {
		_ = l.served.Drain(ended)
		l.close()
	}
	for _, p := range c.changed {
		if p.tls != nil {
			p.tls.Close()
		}
	}
}
