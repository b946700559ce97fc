package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"example.com/ferry/internal/certs"
	"example.com/ferry/node/config"
	"example.com/ferry/stream/hop"
	mqttbridge "example.com/ferry/stream/mqtt/bridge"
	"example.com/ferry/stream/spool"
)

// bridges are the node's bridges to other MQTT brokers. A nil *bridges has none.
type bridges struct {
	inside *hop.Listener // of their clients

	mu   sync.Mutex
	list []*bridge
}

// bridge is one bridge of the configuration.
type bridge struct {
	*mqttbridge.Bridge
	cfg      config.Bridge
	password []byte
	dial     *brokerDialer
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
		Name: c.Name, Node: n.nodeID, Broker: n.hop, Listener: n.bridges.inside, Token: []byte(n.id.Token()), Target: t,
		Spool:         spool.Config{Dir: filepath.Join(cfg.DataDir, "bridges", c.Name), MaxBytes: int64(c.Spool.Size), Sync: c.Spool.Sync},
		BlockWhenFull: c.Spool.Full == config.FullBlock, MaxPacket: int(cfg.Limits.MaxFrame), Log: n.log,
	})
	if err != nil {
		d.close()
		return nil, fmt.Errorf("spool: %w", err)
	}
	return b, nil
}

// all returns the bridges.
func (b *bridges) all() []*bridge {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

// Stats returns the state of all bridges.
func (b *bridges) Stats() []mqttbridge.Stats {
	var all []mqttbridge.Stats
	for _, each := range b.all() {
		all = append(all, each.Stats())
	}
	return all
}

// closeBridges closes bridges, at the same time.
func (n *Node) closeBridges(ctx context.Context, list []*bridge) {
	ctx, cancel := withGrace(ctx, linkGrace)
	defer cancel()
	var group sync.WaitGroup
	for _, b := range list {
		group.Go(func() {
			if err := b.Close(ctx); err != nil {
				n.log.Warn("a bridge was closed", "bridge", b.cfg.Name, "err", err)
			}
			b.dial.close()
		})
	}
	group.Wait()
}

// rebridge is a prepared change of the bridges.
type rebridge struct {
	list    []*bridge
	added   []*bridge
	removed []*bridge
	patches []bridgePatch
}

// bridgePatch is a change of a bridge that stays.
type bridgePatch struct {
	*bridge
	cfg    config.Bridge
	target mqttbridge.Target
	dial   *brokerDialer
}

// prepareBridges makes the bridges that the next configuration adds, and reads the files of those that change. A bridge that stays
// keeps its spool, so no message is lost.
func (n *Node) prepareBridges(r *reload) (change, error) {
	if n.bridges == nil {
		return change{}, nil
	}
	before := map[string]*bridge{}
	for _, b := range n.bridges.all() {
		before[b.cfg.Name] = b
	}
	var c rebridge
	var errs []error
	for i, next := range r.next.Bridges {
		b := before[next.Name]
		delete(before, next.Name)
		var err error
		if b == nil {
			if b, err = n.newBridge(next, r.next); err == nil {
				c.added = append(c.added, b)
			}
		} else {
			err = c.patch(n, b, next)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("bridges[%d].%w", i, err))
			continue
		}
		c.list = append(c.list, b)
	}
	for _, b := range before {
		c.removed = append(c.removed, b)
	}
	if len(errs) > 0 {
		c.abort(n)
		return change{}, errors.Join(errs...)
	}
	var changed []string
	for _, p := range c.patches {
		changed = append(changed, p.cfg.Name)
	}
	what := differences(bridgeNames(c.added), bridgeNames(c.removed), changed)
	return change{what, func() { c.commit(n, r) }, func() { c.abort(n) }}, nil
}

// patch prepares the change of a bridge that stays.
func (c *rebridge) patch(n *Node, b *bridge, next config.Bridge) error {
	if reflect.DeepEqual(b.cfg, next) && next.PasswordFile == "" {
		return nil
	}
	t, d, err := n.brokerTarget(next)
	if err != nil {
		return err
	}
	if reflect.DeepEqual(b.cfg, next) && bytes.Equal(b.password, t.Password) {
		d.close()
		return nil
	}
	c.patches = append(c.patches, bridgePatch{b, next, t, d})
	return nil
}

func bridgeNames(list []*bridge) []string {
	names := make([]string, len(list))
	for i, b := range list {
		names[i] = b.cfg.Name
	}
	return names
}

// commit puts the bridges in place. Those that are removed get the time of drain.timeout for what is on its way.
func (c *rebridge) commit(n *Node, r *reload) {
	for _, p := range c.patches {
		b, old := p.bridge, p.bridge.dial
		b.cfg, b.password, b.dial = p.cfg, p.target.Password, p.dial
		if err := b.Update(p.target); err != nil { // config.Check has checked the same
			n.log.Error("a bridge keeps its configuration", "bridge", p.cfg.Name, "err", err)
		}
		old.close()
	}
	n.bridges.mu.Lock()
	n.bridges.list = c.list
	n.bridges.mu.Unlock()
	n.setForwarders()
	if len(c.removed) > 0 {
		n.serving.group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), r.next.Drain.Timeout)
			defer cancel()
			n.closeBridges(ctx, c.removed)
		})
	}
}

func (c *rebridge) abort(n *Node) {
	for _, p := range c.patches {
		p.dial.close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	n.closeBridges(ctx, c.added)
}
