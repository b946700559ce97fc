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
	"time"

	"example.com/ferry/internal/atomicfile"
	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/pki"
	"example.com/ferry/internal/regularfile"
	"example.com/ferry/link/forward"
	"example.com/ferry/node/backup"
	"example.com/ferry/node/config"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// nodeID returns the id of the node with a data directory. It is made when it is first needed: the host's name, and a random part,
// because two nodes with one id would drop each other's messages.
func nodeID(dir string) (string, error) {
	path := filepath.Join(dir, backup.NodeIDFile)
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
	if err := atomicfile.Write(path, []byte(id+"\n"), 0o644); err != nil {
		return "", fmt.Errorf("node: %w", err)
	}
	return id, nil
}

// links are the node's links to other nodes.
type links = outgoings[forward.Stats, *forwardLink]

// forwardLink is one link of the configuration.
type forwardLink struct {
	*forward.Link
	cfg   config.Forward
	token []byte
	dial  *linkDialer
}

func (l *forwardLink) name() string { return l.cfg.Name }

// Close closes the link, and then its certificates.
func (l *forwardLink) Close(ctx context.Context) error {
	err := l.Link.Close(ctx)
	l.dial.close()
	return err
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
func (n *Node) newLink(c config.Forward, cfg *config.Config) (*forwardLink, error) {
	t, d, err := n.target(c, cfg)
	if err != nil {
		return nil, err
	}
	l := &forwardLink{cfg: c, token: t.Token, dial: d}
	l.Link, err = forward.New(forward.Config{
		Config: n.outgoingConfig(cfg, "forward", c.Name, c.Spool), Node: n.nodeID, Target: t,
	})
	if err != nil {
		d.close()
		return nil, fmt.Errorf("spool: %w", err)
	}
	return l, nil
}

// prepareForward prepares the links of the next configuration.
func (n *Node) prepareForward(r *reload) (change, error) {
	if n.links == nil {
		return change{}, nil
	}
	next := r.next.Forward
	c := outgoingChange[*forwardLink]{
		create: func(i int) (*forwardLink, error) { return n.newLink(next[i], r.next) },
		patch:  func(i int, l *forwardLink) (*outgoingPatch, error) { return n.patchLink(l, next[i], r.next) },
	}
	for _, f := range next {
		c.names = append(c.names, f.Name)
	}
	return n.links.prepare(n, r, c)
}

// patchLink reads the files of a link that stays, and prepares its change. The result is nil if nothing changes.
func (n *Node) patchLink(l *forwardLink, next config.Forward, cfg *config.Config) (*outgoingPatch, error) {
	if reflect.DeepEqual(l.cfg, next) && next.TokenFile == "" {
		return nil, nil
	}
	t, d, err := n.target(next, cfg)
	if err != nil {
		return nil, err
	}
	if sameTarget(l.cfg, next) && bytes.Equal(l.token, t.Token) {
		d.close()
		if reflect.DeepEqual(l.cfg, next) {
			return nil, nil
		}
		t.Dialer, d = l.dial, l.dial
	}
	return &outgoingPatch{
		commit: func() {
			old := l.dial
			l.cfg, l.token, l.dial = next, t.Token, d
			l.Update(t)
			if old != d {
				old.close()
			}
		},
		abort: func() {
			if d != l.dial {
				d.close()
			}
		},
	}, nil
}

// sameTarget reports whether two configurations differ in their tags only.
func sameTarget(a, b config.Forward) bool {
	a.Tags, b.Tags = nil, nil
	return reflect.DeepEqual(a, b)
}
