package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"example.com/ferry"
	"example.com/ferry/internal/load"
	"example.com/ferry/internal/load/target"
	"example.com/ferry/internal/phrase"
	"example.com/ferry/internal/topic"
	"example.com/ferry/node"
	"example.com/ferry/protocol/bolt"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
)

// target returns what the flags and the address say to send.
func (c *loadCmd) target(ctx context.Context, e *env) (load.Target, error) {
	scheme, rest, _ := strings.Cut(c.Addr, "://")
	http := scheme == "http" || scheme == "https"
	if given := c.given(); c.Method != "" && c.Pub != "" {
		return nil, usagef("--method and --pub exclude each other")
	} else if c.Method != "" || c.Pub != "" {
		if len(given) > 0 {
			return nil, usagef("%s is for HTTP requests and bolt://, not for --method and --pub: send --metadata with calls", given[0])
		}
	} else if c.Content != "" || c.Schema != "" || len(c.Metadata) > 0 || c.TokenFile != "" {
		return nil, usagef("--content, --schema, --metadata and --token-file are for --method and --pub: send fields with -H")
	}
	switch {
	case c.Method != "":
		return c.callTarget(ctx, e)
	case c.Pub != "":
		return c.publishTarget(e, scheme, rest)
	case scheme == "bolt":
		return c.boltTarget(e, rest)
	case http:
		return c.httpTarget(e, scheme)
	}
	return nil, usagef("%s needs --method SERVICE.METHOD or --pub TAG, or write http://HOST:PORT/PATH or bolt://HOST:PORT", c.Addr)
}

// given returns the flags of HTTP and SOFABolt that are given.
func (c *loadCmd) given() (names []string) {
	for _, f := range []struct {
		name string
		is   bool
	}{{"-X", c.Verb != ""}, {"-H", len(c.Header) > 0}, {"--expect", c.Expect != 0}, {"--http2", c.HTTP2}, {"--dialect", c.Dialect != "v1"}} {
		if f.is {
			names = append(names, f.name)
		}
	}
	return names
}

// publishTarget returns the target for --pub.
func (c *loadCmd) publishTarget(e *env, scheme, addr string) (load.Target, error) {
	if err := topic.CheckTag(c.Pub); err != nil {
		return nil, usageError{err}
	}
	if c.Content != "" || c.Schema != "" || len(c.Metadata) > 0 {
		return nil, usagef("--content, --schema and --metadata are for --method, not for --pub")
	}
	tr, err := c.transport(e, scheme)
	if err != nil {
		return nil, err
	}
	token, err := (&nodeFlags{TokenFile: c.TokenFile, DataDir: c.DataDir}).token()
	if err != nil {
		return nil, err
	}
	t := &target.Publish{
		Transport: tr, Addr: addr, Tag: c.Pub, Timeout: c.Timeout,
		Config: &stream.Config{Token: []byte(token), Name: "ferry load", DialTimeout: c.Timeout, Log: slog.New(slog.DiscardHandler)}, // the result has the errors
	}
	if t.Message.Payload, _, err = c.payload(); err != nil {
		return nil, err
	}
	if t.Message.Type = ferry.Raw; json.Valid(t.Message.Payload) {
		t.Message.Type = ferry.JSON
	}
	return t, nil
}

// boltTarget returns the target of a bolt URL.
func (c *loadCmd) boltTarget(e *env, addr string) (load.Target, error) {
	if c.Verb != "" || c.Expect != 0 || c.HTTP2 {
		return nil, usagef("-X, --expect and --http2 are for HTTP requests, not for bolt://")
	}
	fields, err := c.fields()
	if err != nil {
		return nil, err
	}
	tr, err := c.transport(e, "tcp")
	if err != nil {
		return nil, err
	}
	m := bolt.Message{Codec: bolt.Hessian2, Class: "com.alipay.sofa.rpc.core.request.SofaRequest"}
	switch c.Dialect {
	case "v1":
		m.Dialect = bolt.V1
	case "v2":
		m.Dialect = bolt.V2
	case "v2crc":
		m.Dialect, m.Switch = bolt.V2CRC, bolt.SwitchCRC
	}
	for _, f := range fields {
		m.Header = bolt.AppendPair(m.Header, f[0], f[1])
	}
	if m.Content, _, err = c.payload(); err != nil {
		return nil, err
	}
	return &target.Bolt{Transport: tr, Addr: addr, Request: m, Timeout: c.Timeout}, nil
}

// fields returns the names and values of -H.
func (c *loadCmd) fields() (all [][2]string, err error) {
	for _, field := range c.Header {
		name, value, ok := strings.Cut(field, ":")
		if !ok || name == "" {
			return nil, usagef("-H %q has no name: write NAME:VALUE", field)
		}
		all = append(all, [2]string{name, strings.TrimSpace(value)})
	}
	return all, nil
}

// callTarget returns the target for --method.
func (c *loadCmd) callTarget(ctx context.Context, e *env) (load.Target, error) {
	one := &callCmd{CA: c.CA, DataDir: c.DataDir, TokenFile: c.TokenFile, Content: c.Content, Schema: c.Schema, Metadata: c.Metadata, Addr: c.Addr, Method: c.Method, Timeout: c.Timeout}
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
		format, err := newCallFormat(ctx, server, c.Method, c.Schema)
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
	if c.Dialect != "v1" {
		return nil, usagef("--dialect is for bolt://")
	}
	u, err := url.Parse(c.Addr)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, usagef("%q is no address: want http://HOST:PORT/PATH or https://HOST:PORT/PATH", c.Addr)
	}
	request := target.HTTPRequest{Method: c.Verb, Path: u.RequestURI(), Expect: c.Expect}
	if request.Header, err = c.fields(); err != nil {
		return nil, err
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
	if c.HTTP2 {
		return &target.HTTP2{Transport: withALPN(tr, "h2"), Addr: addr, Conns: c.Conns, Request: request, Timeout: c.Timeout}, nil
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
