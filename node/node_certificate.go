package node

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"

	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
	"example.com/ferry/proxy"
)

// openIdentity opens the data directory of a node that has streams, or whose proxy or admin server presents the node's
// certificate.
func (n *Node) openIdentity(cfg *config.Config) (err error) {
	proxied := cfg.Proxy != nil && slices.ContainsFunc(cfg.Proxy.Listeners, usesNodeCertificate)
	if n.id == nil && (proxied || len(cfg.Listeners) > 0 || cfg.Admin.OwnCertificate()) {
		n.id, err = pki.Open(pki.Config{Dir: cfg.DataDir, Names: certificateNames(cfg), Unsaved: func(err error) {
			n.log.Warn("the renewed certificate of the node is not stored", "err", err)
		}})
	}
	return err
}

// nodeCertificate is proxy.Config.NodeCertificate. openIdentity was called before.
func (n *Node) nodeCertificate() (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	if n.id == nil {
		return nil, errors.New("the data directory is not open")
	}
	return n.id.ServerTLS().GetCertificate, nil
}

func usesNodeCertificate(l proxy.Listener) bool { return l.UsesNodeCertificate() }

// proxyNames returns the hosts of the proxy's listeners that present the node's certificate.
func proxyNames(cfg *config.Config) (names []string) {
	if cfg.Proxy == nil {
		return nil
	}
	for _, l := range cfg.Proxy.Listeners {
		host, _, err := net.SplitHostPort(l.Address)
		if ip, notIP := netip.ParseAddr(host); err == nil && notIP == nil && !ip.IsUnspecified() && l.UsesNodeCertificate() {
			names = append(names, host)
		}
	}
	return names
}
