package cli

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"example.com/ferry/internal/load"
	"example.com/ferry/internal/load/target"
	"example.com/ferry/internal/phrase"
	"example.com/ferry/node"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
)

// target returns what the flags and the address say to send.
func (c *loadCmd) target(ctx context.Context, e *env) (load.Target, error) {
	scheme, _, _ := strings.Cut(c.Addr, "://")
	switch http := scheme == "http" || scheme == "https"; {
	case c.Method != "":
		if c.Verb != "" || len(c.Header) > 0 || c.Expect != 0 {
			return nil, usagef("-X, -H and --expect are for HTTP requests, not for --method: send --metadata")
		}
		return c.callTarget(ctx, e)
	case !http:
		return nil, usagef("%s needs --method SERVICE.METHOD: what should be called?", c.Addr)
	case c.Content != "" || len(c.Metadata) > 0 || c.TokenFile != "":
		return nil, usagef("--content, --metadata and --token-file are for --method: send fields with -H")
	}
	return c.httpTarget(e, scheme)
}

// callTarget returns the target for --method.
func (c *loadCmd) callTarget(ctx context.Context, e *env) (load.Target, error) {
	one := &callCmd{CA: c.CA, DataDir: c.DataDir, TokenFile: c.TokenFile, Content: c.Content, Metadata: c.Metadata, Addr: c.Addr, Method: c.Method, Timeout: c.Timeout}
	pairs, err := one.metadata()
	if err != nil {
		return nil, err
	}
	server, err := one.target(e)
	if err != nil {
		return nil, err
	}
	if p, ok := server.protocol.(native.Protocol); ok {
		p.ClientName = "ferry load"
		server.protocol = p
	}
	data, text, err := c.payload()
	if err != nil {
		return nil, err
	}
	if text {
		if one.Request = c.Data; len(data) == 0 {
			one.Request = "{}"
		}
		if data, err = one.request(e); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		format, err := newCallFormat(ctx, server, c.Method)
		if err != nil {
			return nil, one.explain(err)
		}
		if data, err = format.encode(data); err != nil {
			return nil, usagef("-d does not fit %s: %w", c.Method, err)
		}
	}
	t := &target.RPC{
		Protocol: server.protocol, Transport: server.transport, Addr: server.addr, Conns: c.Conns, Method: c.Method,
		Content: server.content, Request: data, Timeout: c.Timeout,
	}
	for pair := range slices.Chunk(pairs, 2) {
		t.Metadata = append(t.Metadata, call.Field{Name: strings.ToLower(pair[0]), Value: pair[1]})
	}
	return t, nil
}

// httpTarget returns the target of an http or https URL.
func (c *loadCmd) httpTarget(e *env, scheme string) (load.Target, error) {
	u, err := url.Parse(c.Addr)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, usagef("%q is no address: want http://HOST:PORT/PATH or https://HOST:PORT/PATH", c.Addr)
	}
	request := target.HTTPRequest{Method: c.Verb, Path: u.RequestURI(), Expect: c.Expect}
	for _, field := range c.Header {
		name, value, ok := strings.Cut(field, ":")
		if !ok || name == "" {
			return nil, usagef("-H %q has no name: write NAME:VALUE", field)
		}
		request.Header = append(request.Header, [2]string{name, strings.TrimSpace(value)})
	}
	if !slices.ContainsFunc(request.Header, func(f [2]string) bool { return strings.EqualFold(f[0], "Host") }) {
		request.Header = append(request.Header, [2]string{"Host", u.Host})
	}
	if request.Body, _, err = c.payload(); err != nil {
		return nil, err
	}
	carrier, port := "tcp", "80"
	if scheme == "https" {
		carrier, port = "tls", "443"
	}
	tr, err := c.transport(e, carrier)
	if err != nil {
		return nil, err
	}
	addr := u.Host
	if u.Port() == "" {
		addr = strings.TrimSuffix(u.Host, ":") + ":" + port
	}
	return &target.HTTP1{Transport: withALPN(tr, "http/1.1"), Addr: addr, Request: request, Timeout: c.Timeout}, nil
}

// transport returns the transport of a scheme.
func (c *loadCmd) transport(e *env, scheme string) (transport.Transport, error) {
	i := slices.IndexFunc(e.extensions.Transports, func(tr node.Transport) bool { return tr.Scheme == scheme })
	if i < 0 {
		return nil, usagef("%s needs the transport %s, which this program lacks: it has %s", c.Addr, scheme, phrase.Or(syntaxes(e.extensions.Transports)))
	}
	trust, err := (&nodeFlags{CA: c.CA, DataDir: c.DataDir}).trust()
	if err != nil {
		return nil, err
	}
	return e.extensions.Transports[i].New(node.Security{Client: trust}), nil
}

// withALPN offers a protocol in the TLS handshake, if there is one.
func withALPN(tr transport.Transport, protocol string) transport.Transport {
	if n, ok := tr.(transport.Negotiator); ok {
		return n.WithALPN(protocol)
	}
	return tr
}
