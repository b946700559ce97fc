package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
	"example.com/ferry/stream/hop"
	"example.com/ferry/transport"
)

// Security configures how a transport identifies the node and verifies its peers.
type Security struct {
	Server           *tls.Config // for listening
	Client           *tls.Config // for dialing: trusts the local CA only
	ResetKey         *[32]byte   // for QUIC's stateless reset
	HandshakeTimeout time.Duration
	ReceiveWindow    int // bytes a client may send ahead of what is read; 0 means the transport's default
}

// listen binds one listener of the configuration.
func (n *Node) listen(c config.Listener, transports []Transport) error {
	scheme, addr, _ := strings.Cut(c.Address, "://")
	s, err := n.security(c)
	if err != nil {
		return fmt.Errorf("node: listener %s: %w", c.Address, err)
	}
	validate, err := hop.ParseValidation(string(c.Validate))
	if err != nil {
		return fmt.Errorf("node: listener %s: %w", c.Address, err)
	}
	for _, each := range transports {
		if each.Scheme != scheme {
			continue
		}
		t := each.New(s)
		if err := n.bind(t, addr, validate); err != nil {
			return err
		}
		if bound := n.listeners[len(n.listeners)-1].Addr(); n.near.transport == nil && c.CertFile == "" {
			n.near = endpoint{t, reachable(bound)}
		}
		return nil
	}
	return fmt.Errorf("node: listener %s: this program has no transport %s", c.Address, scheme)
}

func (n *Node) bind(t transport.Transport, addr string, v hop.Validation) error {
	l, err := t.Listen(context.Background(), addr)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	n.listeners = append(n.listeners, listener{l, t.Scheme(), v})
	return nil
}

func (n *Node) security(c config.Listener) (Security, error) {
	s := Security{
		Server: n.id.ServerTLS().Clone(), ResetKey: n.id.ResetKey(),
		HandshakeTimeout: n.cfg.Limits.HandshakeTimeout, ReceiveWindow: int(c.ReceiveWindow),
	}
	var err error
	if s.Client, err = pki.ClientTLS(filepath.Join(n.cfg.DataDir, pki.CAFile)); err != nil {
		return s, err
	}
	if c.CertFile == "" && c.ClientCAFile == "" {
		return s, nil
	}
	var own []certs.Files
	if c.CertFile != "" {
		own = []certs.Files{{CertFile: c.CertFile, KeyFile: c.KeyFile}}
	}
	server, err := n.certs.Server(s.Server, own, c.ClientCAFile)
	if err != nil {
		return s, err
	}
	n.servers = append(n.servers, server)
	s.Server = server.Config()
	return s, nil
}

// reachable returns an address at which this machine can dial a listener.
func reachable(a net.Addr) string {
	if ap, err := netip.ParseAddrPort(a.String()); err == nil && ap.Addr().IsUnspecified() {
		return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), ap.Port()).String()
	}
	return a.String()
}

// certificateNames returns the names that clients connect by: those of the configuration and the hosts of the listeners.
func certificateNames(cfg *config.Config) []string {
	names := slices.Clone(cfg.Names)
	for _, l := range cfg.Listeners {
		_, addr, _ := strings.Cut(l.Address, "://")
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
