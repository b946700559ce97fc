package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/ferry/codec/raw"
	"example.com/ferry/internal/phrase"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
)

type callCmd struct {
	CA          string        `name:"ca" placeholder:"FILE" help:"The CA certificate to trust. The default is ca.pem in the data directory, or else the system's."`
	DataDir     string        `default:"./ferry-data" placeholder:"DIR" help:"The data directory of a node on this machine. The default is ./ferry-data."`
	Cert        string        `placeholder:"FILE" help:"The file with the client certificate, in PEM, for a server that requires one."`
	Key         string        `placeholder:"FILE" help:"The file with the key of --cert."`
	TokenFile   string        `placeholder:"FILE" help:"The file with the token, for a server that requires one. Only for the protocol rpc."`
	Protocol    string        `placeholder:"NAME" enum:",rpc,grpc,http" default:"" help:"rpc (ferry's own), grpc or http. By default the address tells; with this flag its scheme is only the transport."`
	Content     string        `placeholder:"TYPE" help:"The content type of the messages, such as json or application/cbor. The default is application/json, and application/protobuf for gRPC."`
	Schema      string        `placeholder:"FILE" help:"A protobuf descriptor set that has the service: the types of messages in protobuf and y3. Without it, the reflection of a gRPC server tells them."`
	Compression string        `placeholder:"NAME" enum:",gzip,zstd" default:"" help:"Compress the messages with gzip or zstd. The default is not to."`
	Metadata    []string      `placeholder:"NAME=VALUE" sep:"none" help:"Metadata of the call. May be given more than once."`
	Timeout     time.Duration `default:"10s" placeholder:"TIME" help:"How long the call may take. The default is 10s."`
	Output      string        `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text prints the response. json prints one object, with the status and the metadata."`
	Addr        string        `arg:"" help:"The server: an address such as tcp://HOST:PORT, grpc://HOST:PORT or http://HOST:PORT."`
	Method      string        `arg:"" placeholder:"SERVICE.METHOD" help:"The method, such as greeter.Greeter.Hello."`
	Request     string        `arg:"" name:"json" optional:"" default:"{}" help:"The request in JSON. The default is {}. With - it is read from standard input."`
}

// Help returns the part of ferry call --help that is not in the grammar.
func (*callCmd) Help() string {
	return `The scheme chooses the protocol: ferry's own over tcp, tls, quic, unix and other transports; gRPC for grpc:// and grpcs://; JSON-RPC 2.0 over HTTP for http:// and https://. With gRPC, the server's reflection tells how to write the request.

Examples:

    ferry call tcp://127.0.0.1:9101 greeter.Greeter.Hello '{"name":"Bo"}'
    ferry call grpc://127.0.0.1:9102 greeter.Greeter.Hello '{"name":"Bo"}'
    ferry call -o json --timeout 1s http://127.0.0.1:9103 Greeter.Hello '{"name":"Bo"}'`
}

// callTarget is the server and how to talk to it.
type callTarget struct {
	protocol  call.Protocol
	transport transport.Transport
	addr      string // without the scheme
	content   envelope.Content
}

// callResult is what -o json prints.
type callResult struct {
	OK       bool                `json:"ok"`
	Response json.RawMessage     `json:"response,omitempty"`
	Code     string              `json:"code,omitempty"`
	Message  string              `json:"message,omitempty"`
	Details  []callDetail        `json:"details,omitempty"`
	Header   map[string][]string `json:"header,omitempty"`
	Trailer  map[string][]string `json:"trailer,omitempty"`
}

type callDetail struct {
	Type  string `json:"type"`
	Value []byte `json:"value"` // base64
}

// Run makes the call and prints the response.
func (c *callCmd) Run(e *env) error {
	if c.Timeout <= 0 {
		return usagef("--timeout %v is not positive", c.Timeout)
	}
	request, err := c.request(e)
	if err != nil {
		return err
	}
	pairs, err := c.metadata()
	if err != nil {
		return err
	}
	target, err := c.target(e)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var result callResult
	err = c.call(rpc.WithMetadata(ctx, pairs...), target, request, &result)
	var usage usageError
	if errors.As(err, &usage) || c.Output != "json" {
		if err != nil {
			return err
		}
		return e.print(append(result.Response, '\n'))
	}
	if result.OK = err == nil; err != nil {
		s := call.StatusOf(err)
		result.Code, result.Message = s.Code.String(), s.Message
		for _, d := range s.Details {
			result.Details = append(result.Details, callDetail(d))
		}
	}
	text, marshalErr := json.Marshal(result)
	if marshalErr != nil {
		return marshalErr
	}
	if printErr := e.print(append(text, '\n')); printErr != nil || err == nil {
		return printErr
	}
	return quietError(statusFailed)
}

// request returns the request, which is JSON.
func (c *callCmd) request(e *env) ([]byte, error) {
	text := []byte(c.Request)
	if c.Request == "-" {
		var err error
		if text, err = io.ReadAll(e.stdin); err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
	}
	if known, _ := contentByName(c.Content); known.Type == "application/octet-stream" {
		return text, nil
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, usagef("the request is not JSON: %w: %.60q", err, text)
	}
	return text, nil
}

// metadata returns names and values in turn.
func (c *callCmd) metadata() ([]string, error) {
	var pairs []string
	for _, text := range c.Metadata {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("--metadata %q has no name: write NAME=VALUE", text)
		}
		pairs = append(pairs, name, value)
	}
	return pairs, nil
}

// target parses the address, and chooses protocol, transport and content type.
func (c *callCmd) target(e *env) (t callTarget, err error) {
	scheme, addr, ok := strings.Cut(c.Addr, "://")
	protocol, carrier := c.protocol(scheme)
	contentType := "application/json"
	switch protocol {
	case "grpc":
		t.protocol, contentType = grpc.Protocol{}, "application/protobuf"
	case "http":
		t.protocol, addr = jsonrpc.Protocol{}, strings.TrimSuffix(addr, "/")
	default:
		p := native.Protocol{ClientName: "ferry call"}
		if c.TokenFile != "" {
			token, err := pki.ReadToken(c.TokenFile)
			if err != nil {
				return t, err
			}
			p.Token = []byte(token)
		}
		t.protocol = p
	}
	if c.TokenFile != "" && protocol != "rpc" {
		return t, usagef("--token-file is for the protocol rpc, not for %s: send what the server expects with --metadata", protocol)
	}
	i := slices.IndexFunc(e.extensions.Transports, func(tr node.Transport) bool { return tr.Scheme == carrier })
	if !ok || i < 0 {
		return t, usagef("%q is no address: want %s", c.Addr, phrase.Or(callSyntaxes(e.extensions.Transports)))
	}
	tr := e.extensions.Transports[i]
	if err := tr.CheckAddress(addr); err != nil {
		return t, usagef("%s %w", c.Addr, err)
	}
	trust, err := (&nodeFlags{CA: c.CA, DataDir: c.DataDir}).trust()
	if err == nil {
		trust, err = c.identified(trust)
	}
	if err != nil {
		return t, err
	}
	t.transport, t.addr = tr.New(node.Security{Client: trust}), addr
	if c.Content != "" {
		contentType = c.Content
	}
	if t.content, ok = contentByName(contentType); !ok {
		var all []string
		for _, known := range content.All() {
			all = append(all, known.Type)
		}
		return t, usagef("--content %q is unknown: want %s", contentType, phrase.Or(all))
	}
	return t, nil
}

// contentByName returns the content type with a name: application/cbor, cbor, or that of its codec, as in msgpack and raw.
func contentByName(name string) (envelope.Content, bool) {
	if c, ok := content.ByType(name); ok {
		return c, true
	}
	if c, ok := content.ByType("application/" + name); ok {
		return c, true
	}
	all := content.All()
	i := slices.IndexFunc(all, func(c envelope.Content) bool { return c.Codec.Name() == name })
	if i < 0 {
		return envelope.Content{}, false
	}
	return all[i], true
}

// identified adds the client certificate to the TLS configuration, which may be nil.
func (c *callCmd) identified(trust *tls.Config) (*tls.Config, error) {
	switch {
	case c.Cert == "" && c.Key == "":
		return trust, nil
	case c.Cert == "" || c.Key == "":
		return nil, usagef("--cert %q and --key %q: give both", c.Cert, c.Key)
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("--cert %s, --key %s: %w", c.Cert, c.Key, err)
	}
	if trust == nil {
		trust = &tls.Config{MinVersion: tls.VersionTLS12}
	} else {
		trust = trust.Clone()
	}
	trust.Certificates = []tls.Certificate{pair}
	return trust, nil
}

// callSchemes are the schemes that choose a protocol, and the transport below it.
var callSchemes = []struct{ scheme, protocol, transport string }{
	{"grpc", "grpc", "tcp"}, {"grpcs", "grpc", "tls"}, {"http", "http", "tcp"}, {"https", "http", "tls"},
}

// protocol returns the protocol and the scheme of the transport for an address. With --protocol, the scheme is that of the transport.
func (c *callCmd) protocol(scheme string) (protocol, carrier string) {
	if c.Protocol != "" {
		return c.Protocol, scheme
	}
	for _, s := range callSchemes {
		if s.scheme == scheme {
			return s.protocol, s.transport
		}
	}
	return "rpc", scheme
}

// callSyntaxes returns how addresses for ferry call are written.
func callSyntaxes(transports []node.Transport) []string {
	all := syntaxes(transports)
	for _, s := range callSchemes {
		if syntax := s.scheme + "://HOST:PORT"; !slices.Contains(all, syntax) {
			all = append(all, syntax)
		}
	}
	return all
}

// call makes the call and sets the response and the metadata in result.
func (c *callCmd) call(ctx context.Context, t callTarget, request []byte, result *callResult) error {
	format, err := newCallFormat(ctx, t, c.Method, c.Schema)
	if err != nil {
		return c.explain(err)
	}
	data, err := format.encode(request)
	if err != nil {
		return usagef("the request does not fit %s: %w", c.Method, err)
	}
	wire := t.content
	wire.Codec = raw.Codec{} // format has encoded the request
	client, err := rpc.Dial(ctx, t.transport.Scheme()+"://"+t.addr, &rpc.ClientConfig{
		Protocol: t.protocol, Transports: []transport.Transport{t.transport}, Contents: []envelope.Content{wire}, Conns: 1,
		Compression: c.Compression,
	})
	if err != nil {
		return c.explain(err)
	}
	defer client.Close()
	var header, trailer call.Metadata
	out, err := rpc.Call[[]byte](ctx, client, c.Method, &data, rpc.ReceiveHeader(&header), rpc.ReceiveTrailer(&trailer))
	result.Header, result.Trailer = valuesByName(header), valuesByName(trailer)
	if err != nil {
		return c.explain(err)
	}
	text, err := format.decode(*out)
	if err != nil {
		return fmt.Errorf("the response in %s cannot be read: %w", t.content.Type, err)
	}
	result.Response = text
	return nil
}

// valuesByName returns the values of each name.
func valuesByName(m call.Metadata) map[string][]string {
	all := make(map[string][]string, len(m))
	for _, f := range m {
		all[f.Name] = append(all[f.Name], f.Value)
	}
	return all
}

// explain adds advice to an error of a call.
func (c *callCmd) explain(err error) error {
	switch s := call.StatusOf(err); s.Code {
	case call.Unavailable:
		return fmt.Errorf("%w\nis the server running, and does it speak the protocol of %s?", err, c.Addr)
	case call.DeadlineExceeded:
		return fmt.Errorf("%w\nthe call took longer than --timeout %v", err, c.Timeout)
	case call.Unauthenticated:
		return fmt.Errorf("%w\nthe server requires credentials: give --token-file or --metadata", err)
	}
	return err
}
