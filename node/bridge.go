package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"reflect"
	"strings"

	"example.com/ferry/internal/certs"
	"example.com/ferry/link/mqttbridge"
	"example.com/ferry/node/config"
)

// bridges are the node's bridges to other MQTT brokers.
type bridges = outgoings[mqttbridge.Stats, *bridge]

// bridge is one bridge of the configuration.
type bridge struct {
	*mqttbridge.Bridge
	cfg      config.Bridge
	password []byte
	dial     *brokerDialer
}

func (b *bridge) name() string { return b.cfg.Name }

// Close closes the bridge, and then its certificates.
func (b *bridge) Close(ctx context.Context) error {
	err := b.Bridge.Close(ctx)
	b.dial.close()
	return err
}

// bridgeAddr is where the clients of bridges come from.
type bridgeAddr struct{}

// Network is net.Addr.Network.
func (bridgeAddr) Network() string { return "node" }

// String is net.Addr.String.
func (bridgeAddr) String() string { return "bridges" }

// brokerDialer dials another broker with the certificates that the files have now.
type brokerDialer struct {
	addr string
	tls  *certs.Client // nil without TLS
}

// Dial is mqttbridge.Target.Dial.
func (d *brokerDialer) Dial(ctx context.Context) (net.Conn, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", d.addr)
	if err != nil || d.tls == nil {
		return c, err
	}
	secure := tls.Client(c, d.tls.Config())
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return secure, nil
}

func (d *brokerDialer) close() {
	if d != nil && d.tls != nil {
		d.tls.Close()
	}
}

// brokerTarget reads the files of a bridge's configuration.
func (n *Node) brokerTarget(c config.Bridge) (t mqttbridge.Target, d *brokerDialer, err error) {
	scheme, addr, _ := strings.Cut(c.Address, "://")
	d = &brokerDialer{addr: addr}
	t = mqttbridge.Target{
		Dial: d.Dial, ClientID: c.ClientID, User: c.User, Password: []byte(c.Password),
		In: c.In, InPrefix: c.InPrefix, Out: c.Out, OutPrefix: c.OutPrefix, KeepAlive: c.KeepAlive, SessionExpiry: c.SessionExpiry,
	}
	if c.PasswordFile != "" {
		data, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return t, nil, fmt.Errorf("password_file: %w", err)
		}
		t.Password = bytes.TrimSpace(data)
	}
	if scheme == "mqtts" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return t, nil, fmt.Errorf("address: %w", err)
		}
		base := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
		if d.tls, err = n.certs.Client(base, certs.Files{CertFile: c.CertFile, KeyFile: c.KeyFile}, c.CAFile, 0); err != nil {
			return t, nil, fmt.Errorf("address: %w", err)
		}
	}
	return t, d, nil
}

// newBridge makes a bridge. It connects from here on.
func (n *Node) newBridge(c config.Bridge, cfg *config.Config) (*bridge, error) {
	t, d, err := n.brokerTarget(c)
	if err != nil {
		return nil, err
	}
	b := &bridge{cfg: c, password: t.Password, dial: d}
	b.Bridge, err = mqttbridge.New(mqttbridge.Config{
		Config: n.outgoingConfig(cfg, "bridges", c.Name, c.Spool), Node: n.nodeID, Broker: n.broker, Listener: n.bridgesInside,
		Token: []byte(n.id.Token()), Target: t, MaxPacket: int(cfg.Limits.MaxFrame),
	})
	if err != nil {
		d.close()
		return nil, fmt.Errorf("spool: %w", err)
	}
	return b, nil
}

// prepareBridges prepares the bridges of the next configuration.
func (n *Node) prepareBridges(r *reload) (change, error) {
	if n.bridges == nil {
		return change{}, nil
	}
	next := r.next.Bridges
	c := outgoingChange[*bridge]{
		create: func(i int) (*bridge, error) { return n.newBridge(next[i], r.next) },
		patch:  func(i int, b *bridge) (*outgoingPatch, error) { return n.patchBridge(b, next[i]) },
	}
	for _, b := range next {
		c.names = append(c.names, b.Name)
	}
	return n.bridges.prepare(n, r, c)
}

// patchBridge reads the files of a bridge that stays, and prepares its change. The result is nil if nothing changes.
func (n *Node) patchBridge(b *bridge, next config.Bridge) (*outgoingPatch, error) {
	if reflect.DeepEqual(b.cfg, next) && next.PasswordFile == "" {
		return nil, nil
	}
	t, d, err := n.brokerTarget(next)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(b.cfg, next) && bytes.Equal(b.password, t.Password) {
		d.close()
		return nil, nil
	}
	return &outgoingPatch{
		commit: func() {
			old := b.dial
			b.cfg, b.password, b.dial = next, t.Password, d
			if err := b.Update(t); err != nil { // config.Check has checked the same
				n.log.Error("a bridge keeps its configuration", "bridge", next.Name, "err", err)
			}
			old.close()
		},
		abort: d.close,
	}, nil
}
