package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/codec"
	"example.com/ferry/internal/pki"
	"example.com/ferry/internal/wirecount"
	"example.com/ferry/node"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// matrixProtocol is one protocol of the matrix. Its folder is below rpc/.
type matrixProtocol struct {
	folder   string
	protocol call.Protocol
	contents []string // nil means all
	unary    bool     // it has no streams
}

var matrixProtocols = []matrixProtocol{
	{folder: "native", protocol: native.Protocol{}},
	{folder: "grpc", protocol: grpc.Protocol{}},
	{folder: "jsonrpc", protocol: jsonrpc.Protocol{}, contents: []string{"application/json", "application/json-rpc", "application/jsonrpc2"}, unary: true},
}

// matrixTransport is one transport of the matrix.
type matrixTransport struct {
	server, client transport.Transport
	addr           string // to listen on
}

// matrixTransports returns the transports of a node, as far as this binary has them, and that within a process.
func matrixTransports(t *testing.T) []matrixTransport {
	t.Helper()
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	trust, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	network := memory.New(nil)
	all := []matrixTransport{{network, network, "server"}}
	for _, tr := range node.Transports() {
		addr := "127.0.0.1:0"
		if tr.Local {
			addr = filepath.Join(dir, "s")
		}
		made := matrixTransport{tr.New(node.Security{Server: id.ServerTLS()}), tr.New(node.Security{Client: trust}), addr}
		if tr.Missing == "" {
			all = append(all, made)
		} else if l, err := made.server.Listen(t.Context(), addr); err == nil {
			l.Close()
			t.Errorf("%s listens, although it is missing: %s", tr.Scheme, tr.Missing)
		}
	}
	return all
}

// TestMatrix makes a call in each cell of transports x protocols x content types, and a stream where the content has no envelope. The bytes
// that crossed the transport are counted.
func TestMatrix(t *testing.T) {
	t.Parallel()
	transports := matrixTransports(t)
	checkProtocols(t)
	for _, p := range matrixProtocols {
		for _, tr := range transports {
			t.Run(p.protocol.Name()+"/"+tr.server.Scheme(), func(t *testing.T) {
				t.Parallel()
				matrixColumn(t, p, tr)
			})
		}
	}
}

// checkProtocols fails if a folder has a protocol that matrixProtocols has not.
func checkProtocols(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		folder := filepath.Dir(file)
		listed := slices.ContainsFunc(matrixProtocols, func(p matrixProtocol) bool { return p.folder == folder })
		if listed || strings.HasSuffix(folder, "test") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("Protocol) Dial(")) {
			t.Errorf("%s is a protocol, and has no row in the matrix", folder)
		}
	}
}

// Methods of the matrix, by the types that a codec can carry.
const (
	echoProto  = "matrix.Echo.Proto"
	echoStruct = "matrix.Echo.Struct"
	echoRaw    = "matrix.Echo.Raw"
)

// value is a plain struct with the tags of all codecs.
type value struct {
	Text string `json:"text" cbor:"text" bson:"text" msgpack:"text" y3:"0x11"`
}

func echo[T any](_ context.Context, in *T) (*T, error) { return in, nil }

func echoStream[T any](_ context.Context, in *rpc.Receiver[T], out *rpc.Sender[T]) error {
	for {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Send(m); err != nil {
			return err
		}
	}
}

// matrixColumn makes the calls of one protocol over one transport.
func matrixColumn(t *testing.T, p matrixProtocol, tr matrixTransport) {
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
	rpc.Handle(srv, echoProto, echo[wrapperspb.StringValue])
	rpc.Handle(srv, echoStruct, echo[value])
	rpc.Handle(srv, echoRaw, echo[[]byte])
	rpc.HandleBidi(srv, echoProto+"s", echoStream[wrapperspb.StringValue])
	rpc.HandleBidi(srv, echoStruct+"s", echoStream[value])
	rpc.HandleBidi(srv, echoRaw+"s", echoStream[[]byte])
	addr := tr.addr
	if !strings.Contains(addr, ":") {
		addr += p.folder // a name or a path for each protocol
	}
	l, err := srv.Listen(t.Context(), p.protocol, tr.server, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	wire := wirecount.New(tr.client)
	c, err := rpc.Dial(t.Context(), tr.client.Scheme()+"://"+l.Addr().String(), &rpc.ClientConfig{
		Protocol: p.protocol, Transports: []transport.Transport{wire}, Contents: content.All(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, x := range content.All() {
		t.Run(strings.TrimPrefix(x.Type, "application/"), func(t *testing.T) { matrixCell(t, c, wire.Counts, p, x) })
	}
	if err := srv.Drain(t.Context()); err != nil {
		t.Errorf("drain: %v", err)
	}
}

// matrixCell makes a unary call, and a stream where there can be one.
func matrixCell(t *testing.T, c *rpc.Client, wire *wirecount.Counts, p matrixProtocol, x envelope.Content) {
	offered := p.contents == nil
	for _, name := range p.contents {
		offered = offered || name == x.Type
	}
	text := strings.Repeat(x.Type+" ", 40)
	written, read := wire.Written.Load(), wire.Read.Load()
	got, err := matrixCall(t, c, x, text)
	if !offered {
		if call.StatusOf(err) == nil || !strings.Contains(err.Error(), x.Type) {
			t.Errorf("got %v, want an error that names the content type", err)
		}
		return
	}
	if err != nil || got != text {
		t.Fatalf("got %d bytes, %v, want the %d bytes that were sent", len(got), err, len(text))
	}
	sent, received := wire.Written.Load()-written, wire.Read.Load()-read
	if limit := int64(2*len(text) + 2000); sent < int64(len(text)) || received < int64(len(text)) || sent > limit || received > limit {
		t.Errorf("%d bytes were sent and %d received for two messages with %d bytes of text", sent, received, len(text))
	}
	if x.Envelope != nil || p.unary {
		return
	}
	written, read = wire.Written.Load(), wire.Read.Load()
	if err := matrixStream(t, c, x, text); err != nil {
		t.Errorf("stream: %v", err)
	}
	sent, received = wire.Written.Load()-written, wire.Read.Load()-read
	if n := int64(3 * len(text)); sent < n || received < n {
		t.Errorf("%d bytes were sent and %d received for three messages each with %d bytes of text", sent, received, len(text))
	}
}

// carries reports whether the codec of x can carry *T.
func carries[T any](x envelope.Content) bool {
	return codec.CheckType(x.Codec, reflect.TypeFor[*T]()) == nil
}

func matrixCall(t *testing.T, c *rpc.Client, x envelope.Content, text string) (string, error) {
	with := rpc.WithContent(x.Type)
	switch {
	case x.Codec.Name() == "protobuf":
		out, err := rpc.Call[wrapperspb.StringValue](t.Context(), c, echoProto, wrapperspb.String(text), with)
		return out.GetValue(), err
	case carries[value](x):
		out, err := rpc.Call[value](t.Context(), c, echoStruct, &value{text}, with)
		if err != nil {
			return "", err
		}
		return out.Text, nil
	}
	in := []byte(text)
	out, err := rpc.Call[[]byte](t.Context(), c, echoRaw, &in, with)
	if err != nil {
		return "", err
	}
	return string(*out), nil
}

func matrixStream(t *testing.T, c *rpc.Client, x envelope.Content, text string) error {
	switch {
	case x.Codec.Name() == "protobuf":
		return exchange(t, c, echoProto, x, wrapperspb.String(text), func(m *wrapperspb.StringValue) bool { return m.GetValue() == text })
	case carries[value](x):
		return exchange(t, c, echoStruct, x, &value{text}, func(m *value) bool { return m.Text == text })
	}
	in := []byte(text)
	return exchange(t, c, echoRaw, x, &in, func(m *[]byte) bool { return string(*m) == text })
}

// exchange sends m three times, waits for it each time, and ends the stream.
func exchange[T any](t *testing.T, c *rpc.Client, method string, x envelope.Content, m *T, same func(*T) bool) error {
	s, err := rpc.Open[T, T](t.Context(), c, method+"s", rpc.WithContent(x.Type))
	if err != nil {
		return err
	}
	for range 3 {
		if err := s.Send(m); err != nil {
			return err
		}
		if out, err := s.Recv(); err != nil || !same(out) {
			return fmt.Errorf("got %v, %w, want the message that was sent", out, err)
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the end is %w, want io.EOF", err)
	}
	return nil
}
