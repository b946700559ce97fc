package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/codec"
	jsoncodec "example.com/ferry/codec/json"
	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/grpc/reflection"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport/tcp"
)

type greeting struct {
	Name  string `json:"name" y3:"0x11"`
	Count int    `json:"count" y3:"0x12"`
}

// callSchemas writes a descriptor set with two services of callServer.
func callSchemas(t *testing.T) string {
	t.Helper()
	file := func(name, service, method, message string) *descriptorpb.FileDescriptorProto {
		return &descriptorpb.FileDescriptorProto{Name: proto.String(name + ".proto"), Package: &name, Syntax: proto.String("proto3"), Service: []*descriptorpb.ServiceDescriptorProto{{
			Name: &service, Method: []*descriptorpb.MethodDescriptorProto{{Name: &method, InputType: &message, OutputType: &message}},
		}}}
	}
	text := file("text", "Text", "Upper", ".google.protobuf.StringValue")
	text.Dependency = []string{"google/protobuf/wrappers.proto"}
	greeter := file("greeter", "Greeter", "Hello", ".greeter.Greeting")
	greeter.MessageType = []*descriptorpb.DescriptorProto{{Name: proto.String("Greeting"), Field: []*descriptorpb.FieldDescriptorProto{
		{Name: proto.String("name"), Number: proto.Int32(0x11), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
		{Name: proto.String("count"), Number: proto.Int32(0x12), Type: descriptorpb.FieldDescriptorProto_TYPE_INT64.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
	}}}
	wrappers := protodesc.ToFileDescriptorProto(wrapperspb.File_google_protobuf_wrappers_proto)
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{wrappers, text, greeter}})
	if err != nil {
		t.Fatal(err)
	}
	set := filepath.Join(t.TempDir(), "services.desc")
	if err := os.WriteFile(set, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return set
}

// callServer serves methods over three protocols and returns the addresses for ferry call.
func callServer(t *testing.T) (nativeAddr, grpcAddr, httpAddr string) {
	t.Helper()
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
	rpc.Handle(srv, "greeter.Greeter.Hello", func(ctx context.Context, in *greeting) (*greeting, error) {
		if in.Name == "" {
			return nil, &call.Status{Code: call.InvalidArgument, Message: "name is empty", Details: []call.Detail{{Type: "a.B", Value: []byte{1}}}}
		}
		err := rpc.SetHeader(ctx, "x-token", rpc.Header(ctx).Get("x-token"))
		return &greeting{"Hello, " + in.Name, in.Count + 1}, err
	})
	rpc.Handle(srv, "greeter.Greeter.Wait", func(ctx context.Context, _ *greeting) (*greeting, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	rpc.Handle(srv, "text.Text.Upper", func(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		return wrapperspb.String(strings.ToUpper(in.GetValue())), nil
	})
	rpc.Handle(srv, "text.Text.Echo", func(_ context.Context, in *[]byte) (*[]byte, error) { return in, nil })
	rpc.HandleServerStream(srv, "text.Text.Lines", func(context.Context, *wrapperspb.StringValue, *rpc.Sender[wrapperspb.StringValue]) error { return nil })
	t.Cleanup(func() { srv.Close() })
	listen := func(p call.Protocol) string {
		l, err := srv.Listen(t.Context(), p, tcp.New(nil), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l.Addr().String()
	}
	return "tcp://" + listen(native.Protocol{}),
		"grpc://" + listen(grpc.Protocol{Config: &grpc.Config{Services: []call.Service{reflection.New(srv)}}}),
		"http://" + listen(jsonrpc.Protocol{})
}

func TestCall(t *testing.T) {
	t.Parallel()
	nativeAddr, grpcAddr, httpAddr := callServer(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := free.Addr().String()
	free.Close()
	schema, event := callSchemas(t), "../../../examples/messages/noise.json"
	for _, row := range []struct {
		name   string
		args   []string
		status int
		stdout string // the whole output
		stderr string // a part
	}{
		{"rpc", []string{nativeAddr, "greeter.Greeter.Hello", `{"name":"Bo","count":7}`}, 0, `{"name":"Hello, Bo","count":8}` + "\n", ""},
		{"http", []string{httpAddr + "/", "greeter.Greeter.Hello", `{"name":"Bo"}`}, 0, `{"name":"Hello, Bo","count":1}` + "\n", ""},
		{"http, a short name", []string{httpAddr, "Greeter.Hello", `{"name":"Bo"}`}, 0, `{"name":"Hello, Bo","count":1}` + "\n", ""},
		{"grpc", []string{grpcAddr, "text.Text.Upper", `"abc"`}, 0, `"ABC"` + "\n", ""},
		{"grpc in JSON", []string{"--content", "application/json", grpcAddr, "greeter.Greeter.Hello", `{"name":"Bo"}`}, 0, `{"name":"Hello, Bo","count":1}` + "\n", ""},
		{"grpc, by the flag", []string{"--protocol", "grpc", strings.Replace(grpcAddr, "grpc", "tcp", 1), "text.Text.Upper", `"abc"`}, 0, `"ABC"` + "\n", ""},
		{"http, by the flag", []string{"--protocol=http", strings.Replace(httpAddr, "http", "tcp", 1), "Greeter.Hello", `{"name":"Bo"}`}, 0, `{"name":"Hello, Bo","count":1}` + "\n", ""},
		{"http over no transport", []string{"--protocol=http", httpAddr, "Greeter.Hello"}, 2, "", "is no address"},
		{"another protocol", []string{"--protocol=soap", httpAddr, "Greeter.Hello"}, 2, "", "--protocol must be one of"},
		{"cbor", []string{"--content=application/cbor", nativeAddr, "greeter.Greeter.Hello", `{"name":"Bo","count":7}`}, 0, `{"count":8,"name":"Hello, Bo"}` + "\n", ""},
		{"msgpackrpc", []string{"--content=application/msgpackrpc", nativeAddr, "greeter.Greeter.Hello", `{"name":"Bo","count":7}`}, 0, `{"count":8,"name":"Hello, Bo"}` + "\n", ""},
		{"bsonrpc", []string{"--content=application/bsonrpc", nativeAddr, "greeter.Greeter.Hello", `{"name":"Bo","count":7}`}, 0, `{"count":8,"name":"Hello, Bo"}` + "\n", ""},
		{"json-rpc over http", []string{"--content=application/json-rpc", httpAddr, "greeter.Greeter.Hello", `{"name":"Bo"}`}, 0, `{"name":"Hello, Bo","count":1}` + "\n", ""},
		{"bytes", []string{"--content=application/octet-stream", nativeAddr, "text.Text.Echo", `{`}, 0, `"ew=="` + "\n", ""},
		{"an object for metadata", []string{"-o", "json", "--metadata", "x-token=a=b,c", nativeAddr, "greeter.Greeter.Hello", `{"name":"Bo"}`}, 0, `{"ok":true,"response":{"name":"Hello, Bo","count":1},"header":{"x-token":["a=b,c"]}}` + "\n", ""},
		{"an error", []string{nativeAddr, "greeter.Greeter.Hello"}, 1, "", "ferry call: INVALID_ARGUMENT: name is empty\n"},
		{"an error as an object", []string{"-o", "json", nativeAddr, "greeter.Greeter.Hello"}, 1, `{"ok":false,"code":"INVALID_ARGUMENT","message":"name is empty","details":[{"type":"a.B","value":"AQ=="}]}` + "\n", ""},
		{"no such method", []string{nativeAddr, "greeter.Greeter.Nothing"}, 1, "", `UNIMPLEMENTED: the server has no method "greeter.Greeter.Nothing"`},
		{"no such method of gRPC", []string{grpcAddr, "text.Text.Nothing"}, 1, "", `UNIMPLEMENTED: service text.Text has no method "Nothing": it has `},
		{"no such service of gRPC", []string{grpcAddr, "text.Nothing.Upper"}, 1, "", `UNIMPLEMENTED: the server has no service text.Nothing`},
		{"a stream of gRPC", []string{grpcAddr, "text.Text.Lines"}, 1, "", `method text.Text.Lines has streams`},
		{"a deadline", []string{"--timeout", "50ms", nativeAddr, "greeter.Greeter.Wait"}, 1, "", "longer than --timeout 50ms"},
		{"a dead server", []string{"tcp://" + dead, "a.B.C"}, 1, "", "is the server running"},
		{"a dead server of gRPC", []string{"grpc://" + dead, "a.B.C"}, 1, "", "is the server running"},
		{"a dead server of HTTP", []string{"http://" + dead, "a.B.C"}, 1, "", "is the server running"},
		{"bad JSON", []string{nativeAddr, "greeter.Greeter.Hello", `{"name"`}, 2, "", `the request is not JSON`},
		{"another type", []string{grpcAddr, "text.Text.Upper", `5`}, 2, "", `the request does not fit text.Text.Upper`},
		{"no time", []string{"--timeout", "0s", nativeAddr, "a.B.C"}, 2, "", `--timeout 0s is not positive`},
		{"no address", []string{"127.0.0.1:80", "a.B.C"}, 2, "", `"127.0.0.1:80" is no address: want quic://HOST:PORT`},
		{"no port", []string{"grpc://localhost", "a.B.C"}, 2, "", `has no port`},
		{"no method of gRPC", []string{grpcAddr, "Hello"}, 2, "", `"Hello" is no method: write SERVICE.METHOD`},
		{"no content type", []string{"--content", "xml", nativeAddr, "a.B.C"}, 2, "", `--content "xml" is unknown: want application/protobuf`},
		{"protobuf by a schema", []string{"--content=protobuf", "--schema", schema, nativeAddr, "text.Text.Upper", `"abc"`}, 0, `"ABC"` + "\n", ""},
		{"y3 by a schema", []string{"--content=y3", "--schema", schema, nativeAddr, "greeter.Greeter.Hello", `{"name":"Bo","count":7}`}, 0, `{"name":"Hello, Bo","count":8}` + "\n", ""},
		{"cbor by its short name", []string{"--content=cbor", nativeAddr, "greeter.Greeter.Hello", `{"name":"Bo","count":7}`}, 0, `{"count":8,"name":"Hello, Bo"}` + "\n", ""},
		{"bytes by the codec's name", []string{"--content=raw", nativeAddr, "text.Text.Echo", `{`}, 0, `"ew=="` + "\n", ""},
		{"a request that does not fit its schema", []string{"--content=protobuf", "--schema", schema, nativeAddr, "greeter.Greeter.Hello", `{"name":7}`}, 2, "", "the request does not fit greeter.Greeter.Hello: "},
		{"a request that does not fit its schema, in y3", []string{"--content=y3", "--schema", schema, nativeAddr, "greeter.Greeter.Hello", `{"name":7}`}, 2, "", "the request does not fit greeter.Greeter.Hello: 0x01.0x10.name: "},
		{"a schema without the service", []string{"--content=protobuf", "--schema", schema, nativeAddr, "a.B.C"}, 2, "", "services.desc does not describe the service a.B"},
		{"a schema without the method", []string{"--content=y3", "--schema", schema, nativeAddr, "text.Text.Echo", `{}`}, 2, "", `service text.Text has no method "Echo": it has Upper`},
		{"no schema", []string{"--content=y3", "--schema", event, nativeAddr, "a.B.C"}, 2, "", "noise.json is no descriptor set"},
		{"a schema that is not there", []string{"--content=y3", "--schema", "none.desc", nativeAddr, "a.B.C"}, 2, "", "none.desc"},
		{"protobuf without reflection", []string{"--content", "application/protobuf", nativeAddr, "a.B.C"}, 2, "", `application/protobuf needs the types of the messages`},
		{"y3", []string{"--content", "application/y3", nativeAddr, "a.B.C"}, 2, "", `application/y3 needs the types of the messages`},
		{"metadata without a name", []string{"--metadata", "a", nativeAddr, "a.B.C"}, 2, "", `--metadata "a" has no name`},
		{"compressed", []string{"--compression", "zstd", grpcAddr, "greeter.Greeter.Hello", `{"name":"Bo"}`, "--content=application/json"}, 0, `{"name":"Hello, Bo","count":1}` + "\n", ""},
		{"another compression", []string{"--compression", "snappy", nativeAddr, "a.B.C"}, 2, "", `--compression must be one of`},
		{"a certificate without a key", []string{"--cert", "a.pem", nativeAddr, "a.B.C"}, 2, "", `--cert "a.pem" and --key "": give both`},
		{"a token for HTTP", []string{"--token-file", "x", httpAddr, "a.B.C"}, 2, "", `--token-file is for the protocol rpc, not for http`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := ferryWith("", append([]string{"call"}, row.args...)...)
			if got.status != row.status || got.stdout != row.stdout || !strings.Contains(got.stderr, row.stderr) {
				t.Errorf("ferry call %q: status %d, stdout %q, stderr %q, want %d, %q, %q", row.args, got.status, got.stdout, got.stderr, row.status, row.stdout, row.stderr)
			}
		})
	}
}

func TestCallFromStandardInput(t *testing.T) {
	t.Parallel()
	addr, _, _ := callServer(t)
	if got := ferryWith(`{"name":"Bo"}`, "call", addr, "greeter.Greeter.Hello", "-"); got.status != 0 || got.stdout != `{"name":"Hello, Bo","count":1}`+"\n" {
		t.Errorf("got %+v", got)
	}
}

// TestCallToken calls a server that asks for a token.
func TestCallToken(t *testing.T) {
	t.Parallel()
	const token = "c2VjcmV0LXNlY3JldC1zZWNyZXQ"
	srv := rpc.NewServer(nil)
	defer srv.Close()
	l, err := srv.Listen(t.Context(), native.Protocol{Authenticate: func(c native.Credentials) (string, error) {
		if string(c.Token) != token {
			return "", call.Errorf(call.Unauthenticated, "another token")
		}
		return "tester", nil
	}}, tcp.New(nil), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := "tcp://" + l.Addr().String()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ferryWith("", "call", "--token-file", file, addr, rpc.HealthCheck); got.status != 0 || got.stdout != `{"status":"SERVING"}`+"\n" {
		t.Errorf("with the token: got %+v", got)
	}
	if got := ferryWith("", "call", "--timeout", "5s", addr, rpc.HealthCheck); got.status != 1 || strings.Contains(got.stderr, token) {
		t.Errorf("without the token: got %+v", got)
	}
}

// TestCallCertificate calls a server that asks for a client certificate.
func TestCallCertificate(t *testing.T) {
	t.Parallel()
	ca, dir := certstest.NewCA(t, "test"), t.TempDir()
	server, err := tls.X509KeyPair(pairOf(ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}})))
	if err != nil {
		t.Fatal(err)
	}
	mine := ca.Issue(t, certstest.Leaf{CommonName: "bo"})
	caFile, certFile, keyFile := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "bo.pem"), filepath.Join(dir, "bo.key")
	for file, text := range map[string][]byte{caFile: ca.PEM, certFile: mine.CertPEM, keyFile: mine.Key} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	srv := rpc.NewServer(nil)
	defer srv.Close()
	seen := make(chan string, 1)
	rpc.Handle(srv, "greeter.Greeter.Hello", func(ctx context.Context, in *greeting) (*greeting, error) {
		seen <- rpc.Peer(ctx).Identity
		return in, nil
	})
	l, err := srv.Listen(t.Context(), native.Protocol{}, tcp.NewTLS(&tcp.Config{ServerTLS: &tls.Config{
		Certificates: []tls.Certificate{server}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}}), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := "tls://" + l.Addr().String()
	if got := ferryWith("", "call", "--ca", caFile, "--cert", certFile, "--key", keyFile, addr, "greeter.Greeter.Hello"); got.status != 0 || <-seen != "bo" {
		t.Errorf("with the certificate: got %+v", got)
	}
	if got := ferryWith("", "call", "--ca", caFile, addr, "greeter.Greeter.Hello"); got.status != 1 {
		t.Errorf("without the certificate: got %+v", got)
	}
	if got := ferryWith("", "call", "--ca", caFile, "--cert", caFile, "--key", keyFile, addr, "greeter.Greeter.Hello"); got.status != 1 || !strings.Contains(got.stderr, "--cert "+caFile) {
		t.Errorf("with a key of another certificate: got %+v", got)
	}
}

func pairOf(p *certstest.Pair) (cert, key []byte) { return p.CertPEM, p.Key }

// TestUntypedNumbers converts numbers to the types that an encoding without types needs.
func TestUntypedNumbers(t *testing.T) {
	t.Parallel()
	var seen any
	spy := untyped{spyCodec{&seen}}
	if _, err := spy.encode([]byte(`{"a":[1,2.5,9223372036854775808,1e400]}`)); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(seen)
	if err != nil || string(text) != `{"a":[1,2.5,9223372036854776000,"1e400"]}` {
		t.Errorf("got %s, %v", text, err)
	}
	if _, ok := seen.(map[string]any)["a"].([]any)[0].(int64); !ok {
		t.Errorf("1 is a %T, want an int64", seen.(map[string]any)["a"].([]any)[0])
	}
}

// spyCodec keeps the value that it encodes.
type spyCodec struct{ seen *any }

var _ codec.Codec = spyCodec{}

func (spyCodec) Name() string { return "spy" }

func (s spyCodec) Marshal(v any) ([]byte, error) {
	*s.seen = v
	return nil, nil
}

func (spyCodec) Unmarshal(data []byte, v any) error { return jsoncodec.Codec{}.Unmarshal(data, v) }
