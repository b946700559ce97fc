package reflection_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/codec/json"
	"example.com/ferry/codec/protobuf"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/grpc/reflection"
	"example.com/ferry/transport/memory"
)

type plain struct{ Name string }

// open starts a server of the methods below and opens a reflection call to it.
func open(t *testing.T, version string) call.ClientStream {
	t.Helper()
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: []envelope.Content{
		{Type: "application/protobuf", Codec: protobuf.Codec{}}, {Type: "application/json", Codec: json.Codec{}},
	}})
	rpc.Handle(srv, "greeter.Greeter.Hello", func(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) { return in, nil })
	rpc.Handle(srv, "greeter.Greeter.When", func(context.Context, *wrapperspb.StringValue) (*timestamppb.Timestamp, error) {
		return timestamppb.Now(), nil
	})
	rpc.HandleServerStream(srv, "greeter.Greeter.Watch", func(context.Context, *structpb.Struct, *rpc.Sender[wrapperspb.StringValue]) error { return nil })
	rpc.Handle(srv, "greeter.Greeter.Plain", func(_ context.Context, in *plain) (*plain, error) { return in, nil })
	rpc.Handle(srv, "plain.Plain.Hello", func(_ context.Context, in *plain) (*plain, error) { return in, nil })

	network := memory.New(nil)
	p := grpc.Protocol{Config: &grpc.Config{Services: []call.Service{reflection.New(srv)}}}
	l, err := srv.Listen(t.Context(), p, network, "server")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := p.Dial(t.Context(), network, "server")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	s, err := c.Open(t.Context(), &call.Head{Method: "grpc.reflection." + version + ".ServerReflection.ServerReflectionInfo", Content: "application/protobuf"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Cancel)
	return s
}

// ask sends a request with one field, and returns the number and the bytes of the response's last field.
func ask(t *testing.T, s call.ClientStream, n protowire.Number, value []byte) (kind protowire.Number, body []byte) {
	t.Helper()
	request := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "host")
	request = protowire.AppendBytes(protowire.AppendTag(request, n, protowire.BytesType), value)
	if err := s.Send(request); err != nil {
		t.Fatal(err)
	}
	response, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	fields := split(t, response)
	if len(fields) != 3 || string(fields[0].value) != "host" || string(fields[1].value) != string(request) {
		t.Fatalf("got the fields %v, want the host, the request and one more", fields)
	}
	return fields[2].number, slices.Clone(fields[2].value)
}

type wireField struct {
	number protowire.Number
	value  []byte
	varint uint64
}

// split returns the fields of a message.
func split(t *testing.T, data []byte) (fields []wireField) {
	t.Helper()
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		f := wireField{number: number}
		data = data[max(n, 0):]
		switch kind {
		case protowire.BytesType:
			f.value, n = protowire.ConsumeBytes(data)
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(data)
		}
		if n < 0 {
			t.Fatalf("malformed: % x", data)
		}
		data = data[n:]
		fields = append(fields, f)
	}
	return fields
}

// files decodes the files of a FileDescriptorResponse.
func files(t *testing.T, body []byte) *descriptorpb.FileDescriptorSet {
	t.Helper()
	set := new(descriptorpb.FileDescriptorSet)
	for _, f := range split(t, body) {
		one := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(f.value, one); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, one)
	}
	return set
}

func TestList(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v1alpha"} {
		kind, body := ask(t, open(t, version), 7, []byte("*"))
		var names []string
		for _, f := range split(t, body) {
			names = append(names, string(split(t, f.value)[0].value))
		}
		if want := []string{"greeter.Greeter", "grpc.health.v1.Health", "plain.Plain"}; kind != 6 || !reflect.DeepEqual(names, want) {
			t.Errorf("%s: got %d %q, want %q", version, kind, names, want)
		}
	}
}

// TestDescribe: a client that has no .proto file builds descriptors from the response alone.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, symbol := range []string{"greeter.Greeter", "greeter.Greeter.Watch"} {
		kind, body := ask(t, open(t, "v1"), 4, []byte(symbol))
		if kind != 4 {
			t.Fatalf("%s: got %d %q", symbol, kind, body)
		}
		set, err := protodesc.NewFiles(files(t, body))
		if err != nil {
			t.Fatal(err)
		}
		d, err := set.FindDescriptorByName("greeter.Greeter")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		methods := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			m := methods.Get(i)
			got = append(got, fmt.Sprint(m.Name(), " ", m.Input().FullName(), " ", m.Output().FullName(), " ", m.IsStreamingServer(), m.Input().Fields().Len() > 0))
		}
		want := []string{
			"Hello google.protobuf.StringValue google.protobuf.StringValue false true",
			"Watch google.protobuf.Struct google.protobuf.StringValue true true",
			"When google.protobuf.StringValue google.protobuf.Timestamp false true",
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", symbol, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestSentOnce: files that a call has got already are not sent again.
func TestSentOnce(t *testing.T) {
	t.Parallel()
	s := open(t, "v1")
	_, body := ask(t, s, 4, []byte("google.protobuf.StringValue"))
	if got := files(t, body).File; len(got) != 1 || got[0].GetName() != "google/protobuf/wrappers.proto" {
		t.Fatalf("got %v", got)
	}
	_, body = ask(t, s, 4, []byte("greeter.Greeter"))
	for _, f := range files(t, body).File {
		if f.GetName() == "google/protobuf/wrappers.proto" {
			t.Error("a file came twice")
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	_, body := ask(t, open(t, "v1"), 3, []byte("grpc/health/v1/health.proto"))
	if _, err := protodesc.NewFiles(files(t, body)); err != nil {
		t.Error(err)
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	s := open(t, "v1")
	kind, body := ask(t, s, 6, []byte("google.protobuf.FileOptions"))
	if f := split(t, body); kind != 5 || string(f[0].value) != "google.protobuf.FileOptions" {
		t.Errorf("got %d %q", kind, body)
	}
	extension := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "google.protobuf.FileOptions")
	extension = protowire.AppendVarint(protowire.AppendTag(extension, 2, protowire.VarintType), 99999)
	if kind, body := ask(t, s, 5, extension); kind != 7 || !strings.Contains(string(body), "99999") {
		t.Errorf("an extension that does not exist: got %d %q", kind, body)
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	s := open(t, "v1")
	for n, name := range map[protowire.Number]string{3: "no.proto", 4: "no.Service", 6: "no.Message"} {
		kind, body := ask(t, s, n, []byte(name))
		if f := split(t, body); kind != 7 || f[0].varint != uint64(call.NotFound) || !strings.Contains(string(f[1].value), name) {
			t.Errorf("%s: got %d %q", name, kind, body)
		}
	}
	if kind, _ := ask(t, s, 4, []byte("plain.Plain")); kind != 7 {
		t.Errorf("a service without Protocol Buffers: got %d", kind)
	}
}

func TestBadRequest(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"", "\x0a", "\x1a\x05abc", "\x08\x01", "\x2a\x02\x0a\x05"} {
		s := open(t, "v1")
		if err := s.Send([]byte(request)); err != nil {
			t.Fatal(err)
		}
		_, err := s.Recv()
		if status := call.StatusOf(err); status == nil || status.Code != call.InvalidArgument {
			t.Errorf("% x: got %v", request, err)
		}
	}
}
