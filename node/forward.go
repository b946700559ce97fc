package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/pki"
	"example.com/ferry/internal/regularfile"
	"example.com/ferry/node/config"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream/forward"
	"example.com/ferry/stream/hop"
	"example.com/ferry/stream/spool"
	"example.com/ferry/transport"
)

// nodeIDFile has the id of the node in the paths of forwarded messages.
const nodeIDFile = "node-id"

// nodeID returns the id of the node with a data directory. It is made when it is first needed: the host's name, and a random part,
// because two nodes with one id would drop each other's messages.
func nodeID(dir string) (string, error) {
	path := filepath.Join(dir, nodeIDFile)
	data, err := os.ReadFile(path)
	if id := strings.TrimSpace(string(data)); err == nil && id != "" {
		if err := native.CheckNodeID(id); err != nil {
			return "", fmt.Errorf("node: %s: %w: correct it, or remove the file", path, err)
		}
		return id, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("node: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	host = strings.Map(func(r rune) rune {
		if native.CheckNodeID(string(r)) != nil {
			return '-'
		}
		return r
	}, host)
	random := make([]byte, 4)
	_, _ = rand.Read(random) // it never fails
	id := host[:min(len(host), native.MaxNodeID-9)] + "-" + hex.EncodeToString(random)
	if err := os.WriteFile(path, []byte(id+"\n"), 0o644); err != nil { //nolint:gosec // it is no secret
		return "", fmt.Errorf("node: %w", err)
	}
	return id, nil
}

// links are the node's links to other nodes. A nil *links has none.
type links struct {
	mu   sync.Mutex
	list []*link
}

// link is one link of the configuration.
type link struct {
	*forward.Link
	cfg   config.Forward
	token []byte
	dial  *linkDialer
}

// linkDialer dials the other node with the certificates that the files have now.
type linkDialer struct {
	make    func(Security) transport.Transport
	tls     *certs.Client // nil without TLS
	timeout time.Duration
}

// Dial is transport.Transport.Dial.
func (d *linkDialer) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	s := Security{HandshakeTimeout: d.timeout}
	if d.tls != nil {
		s.Client = d.tls.Config()
	}
	return d.make(s).Dial(ctx, addr)
}

func (d *linkDialer) close() {
	if d != nil && d.tls != nil {
		d.tls.Close()
	}
}

// target reads the files of a link's configuration.
func (n *Node) target(c config.Forward, cfg *config.Config) (t forward.Target, d *linkDialer, err error) {
	scheme, addr, _ := strings.Cut(c.Address, "://")
	i := slices.IndexFunc(n.extensions.Transports, func(t Transport) bool { return t.Scheme == scheme })
	if i < 0 {
		return t, nil, fmt.Errorf("address: this program has no transport %s", scheme)
	}
	with := n.extensions.Transports[i]
	d = &linkDialer{make: with.New, timeout: cfg.Limits.HandshakeTimeout}
	t = forward.Target{Tags: c.Tags, Dialer: d, Addr: addr, Token: []byte(c.Token)}
	if c.TokenFile != "" {
		data, err := regularfile.Read(c.TokenFile, config.MaxTokenFile)
		if err != nil {
			return t, nil, fmt.Errorf("token_file: %w", err)
		}
		t.Token = bytes.TrimSpace(data)
	}
	if with.Encrypted {
		base, err := pki.ClientTLS(filepath.Join(cfg.DataDir, pki.CAFile))
		if err != nil {
			return t, nil, fmt.Errorf("ca_file: %w", err)
		}
		if d.tls, err = n.certs.Client(base, certs.Files{CertFile: c.CertFile, KeyFile: c.KeyFile}, c.CAFile, 0); err != nil {
			return t, nil, fmt.Errorf("address: %w", err)
		}
	}
	return t, d, nil
}

// newLink makes a link. It connects from here on.
func (n *Node) newLink(c config.Forward, cfg *config.Config) (*link, error) {
	t, d, err := n.target(c, cfg)
	if err != nil {
		return nil, err
	}
	l := &link{cfg: c, token: t.Token, dial: d}
	l.Link, err = forward.New(forward.Config{
		Name: c.Name, Node: n.nodeID, Tags: t.Tags, Dialer: t.Dialer, Addr: t.Addr, Token: t.Token,
		Spool:         spool.Config{Dir: filepath.Join(cfg.DataDir, "forward", c.Name), MaxBytes: int64(c.Spool.Size), Sync: c.Spool.Sync},
		BlockWhenFull: c.Spool.Full == config.FullBlock, Log: n.log,
	})
	if err != nil {
		d.close()
		return nil, fmt.Errorf("spool: %w", err)
	}
	return l, nil
}

// all returns the links.
func (l *links) all() []*link {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// set replaces the links.
func (l *links) set(list []*link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = list
}

// setForwarders tells the broker which links and bridges there are.
func (n *Node) setForwarders() {
	var all []hop.Forwarder
	for _, l := range n.links.all() {
		all = append(all, l.Link)
	}
	for _, b := range n.bridges.all() {
		all = append(all, b.Bridge)
	}
	n.hop.SetForwarders(all)
}

// Stats returns the state of all links.
func (l *links) Stats() []forward.Stats {
	var all []forward.Stats
	for _, each := range l.all() {
		all = append(all, each.Stats())
	}
	return all
}

// linkGrace is the least time that a link has to write its messages to its spool, and to learn which ones have arrived.
const linkGrace = time.Second

// withGrace returns ctx, or a context with at least the time of grace if ctx has a deadline before.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < grace {
		return context.WithTimeout(context.WithoutCancel(ctx), grace)
	}
	return ctx, func() {}
}

// closeLinks closes links, at the same time.
func (n *Node) closeLinks(ctx context.Context, list []*link) {
	ctx, cancel := withGrace(ctx, linkGrace)
	defer cancel()
	var group sync.WaitGroup
	for _, l := range list {
		group.Go(func() {
			if err := l.Close(ctx); err != nil {
				n.log.Warn("a link was closed", "link", l.cfg.Name, "err", err)
			}
			l.dial.close()
		})
	}
	group.Wait()
}

// relink is a prepared change of the links.
type relink struct {
	list    []*link
	added   []*link
	removed []*link
	patches []linkPatch
}

// linkPatch is a change of a link that stays.
type linkPatch struct {
	*link
	cfg    config.Forward
	target forward.Target
	dial   *linkDialer
}

// prepareForward makes the links that the next configuration adds, and reads the files of those that change. A link that stays keeps its
// spool, so no message is lost or repeated.
func (n *Node) prepareForward(r *reload) (change, error) {
	if n.links == nil {
		return change{}, nil
	}
	before := map[string]*link{}
	for _, l := range n.links.all() {
		before[l.cfg.Name] = l
	}
	var c relink
	var errs []error
	for i, next := range r.next.Forward {
		l := before[next.Name]
		delete(before, next.Name)
		var err error
		if l == nil {
			if l, err = n.newLink(next, r.next); err == nil {
				c.added = append(c.added, l)
			}
		} else {
			err = c.patch(n, l, next, r.next)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("forward[%d].%w", i, err))
			continue
		}
		c.list = append(c.list, l)
	}
	for _, l := range before {
		c.removed = append(c.removed, l)
	}
	if len(errs) > 0 {
		c.abort(n)
		return change{}, errors.Join(errs...)
	}
	var changed []string
	for _, p := range c.patches {
		changed = append(changed, p.cfg.Name)
	}
	return change{differences(linkNames(c.added), linkNames(c.removed), changed), func() { c.commit(n, r) }, func() { c.abort(n) }}, nil
}

// patch prepares the change of a link that stays.
func (c *relink) patch(n *Node, l *link, next config.Forward, cfg *config.Config) error {
	if reflect.DeepEqual(l.cfg, next) && next.TokenFile == "" {
		return nil
	}
	t, d, err := n.target(next, cfg)
	if err != nil {
		return err
	}
	if sameTarget(l.cfg, next) && bytes.Equal(l.token, t.Token) {
		d.close()
		if reflect.DeepEqual(l.cfg, next) {
			return nil
		}
		t.Dialer, d = l.dial, l.dial
	}
	c.patches = append(c.patches, linkPatch{l, next, t, d})
	return nil
}

// sameTarget reports whether two configurations differ in their tags only.
func sameTarget(a, b config.Forward) bool {
	a.Tags, b.Tags = nil, nil
	return reflect.DeepEqual(a, b)
}

func linkNames(list []*link) []string {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = l.cfg.Name
	}
	return names
}

// commit puts the links in place. Those that are removed get the time of drain.timeout for what is on its way.
func (c *relink) commit(n *Node, r *reload) {
	for _, p := range c.patches {
		l, old := p.link, p.link.dial
		l.cfg, l.token, l.dial = p.cfg, p.target.Token, p.dial
		l.Update(p.target)
		if old != p.dial {
			old.close()
		}
	}
	n.links.set(c.list)
	n.setForwarders()
	if len(c.removed) > 0 {
		n.serving.group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), r.next.Drain.Timeout)
			defer cancel()
			n.closeLinks(ctx, c.removed)
		})
	}
}

func (c *relink) abort(n *Node) {
	for _, p := range c.patches {
		if p.dial != p.link.dial {
			p.dial.close()
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	n.closeLinks(ctx, c.added)
}
