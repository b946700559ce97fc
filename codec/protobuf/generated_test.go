package protobuf_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/codec/protobuf"
)

// generated has the methods of vtprotobuf and counts their calls.
type generated struct {
	proto.Message
	marshals, unmarshals int
	sizeError            int // bytes by which SizeVT is wrong
	err                  error
}

func (g *generated) SizeVT() int { return proto.Size(g.Message) + g.sizeError }

func (g *generated) MarshalToSizedBufferVT(b []byte) (int, error) {
	g.marshals++
	data, err := proto.Marshal(g.Message)
	if err != nil || g.err != nil {
		return 0, errors.Join(err, g.err)
	}
	return copy(b[len(b)-len(data):], data), nil
}

func (g *generated) Reset() { proto.Reset(g.Message) }

func (g *generated) UnmarshalVT(data []byte) error {
	g.unmarshals++
	if g.err != nil {
		return g.err
	}
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(data, g.Message) // vtprotobuf merges, too
}

func TestGeneratedMethods(t *testing.T) {
	text := wrapperspb.String("pump-1")
	want, err := proto.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	m := &generated{Message: text}
	got, err := protobuf.Codec{}.Append([]byte("dst"), m)
	if err != nil || string(got) != "dst"+string(want) || m.marshals != 1 {
		t.Errorf("got %q, %v after %d calls of the method, want %q after 1", got, err, m.marshals, want)
	}
	if got, err := (protobuf.Codec{}).Append(make([]byte, 0, 100), m); err != nil || string(got) != string(want) || cap(got) != 100 {
		t.Errorf("got %q, %v, want %q in the memory of dst", got, err, want)
	}
	if _, err := (protobuf.Codec{Deterministic: true}).Marshal(m); err != nil || m.marshals != 2 {
		t.Errorf("deterministic: %v, %d calls of the method, want no further one", err, m.marshals)
	}
	to := &generated{Message: wrapperspb.String("old")}
	if err := (protobuf.Codec{}).Unmarshal(nil, to); err != nil || to.unmarshals != 1 || to.Message.(*wrapperspb.StringValue).Value != "" {
		t.Errorf("got %v, %v after %d calls of the method, want an empty message after 1", to.Message, err, to.unmarshals)
	}
	if err := (protobuf.Codec{}).Unmarshal(want, to); err != nil || !proto.Equal(to.Message, text) {
		t.Errorf("got %v, %v, want %v", to.Message, err, text)
	}
}

// TestGeneratedErrors has methods that fail, and one with a wrong size.
func TestGeneratedErrors(t *testing.T) {
	boom := errors.New("boom")
	m := &generated{Message: wrapperspb.String("pump-1"), err: boom}
	if got, err := (protobuf.Codec{}).Append([]byte("dst"), m); !errors.Is(err, boom) || string(got) != "dst" {
		t.Errorf("got %q, %v, want dst and %v", got, err, boom)
	}
	if err := (protobuf.Codec{}).Unmarshal(nil, m); !errors.Is(err, boom) {
		t.Errorf("got %v, want %v", err, boom)
	}
	m = &generated{Message: wrapperspb.String("pump-1"), sizeError: 3}
	want, err := proto.Marshal(m.Message)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (protobuf.Codec{}).Append(nil, m); err != nil || string(got) != string(want) {
		t.Errorf("a wrong size: got %q, %v, want %q", got, err, want)
	}
}

// generatedValue is a Go type of its own, because all values of a Go type have the same message type.
type generatedValue struct{ generated }

// TestRecursive decodes a type that can contain itself. Generated methods do not limit the nesting, so they must not be called.
func TestRecursive(t *testing.T) {
	want := structpb.NewStringValue("x")
	data, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	m := &generatedValue{generated{Message: new(structpb.Value)}}
	if err := (protobuf.Codec{}).Unmarshal(data, m); err != nil || m.unmarshals != 0 || !proto.Equal(m.Message, want) {
		t.Errorf("got %v, %v after %d calls of the method, want %v after none", m.Message, err, m.unmarshals, want)
	}
}

func TestCheckType(t *testing.T) {
	for _, ok := range []reflect.Type{reflect.TypeFor[*wrapperspb.StringValue](), reflect.TypeFor[*generated]()} {
		if err := (protobuf.Codec{}).CheckType(ok); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []reflect.Type{reflect.TypeFor[*struct{ Name string }](), reflect.TypeFor[**wrapperspb.StringValue](), reflect.TypeFor[proto.Message](), reflect.TypeFor[*[]byte]()} {
		if err := (protobuf.Codec{}).CheckType(bad); err == nil || !strings.Contains(err.Error(), bad.String()) {
			t.Errorf("%v: got %v, want an error that names it", bad, err)
		}
	}
}

// TestDeterministic encodes a map many times.
func TestDeterministic(t *testing.T) {
	fields := map[string]any{}
	for _, name := range strings.Split("abcdefghijklmnop", "") {
		fields[name] = 1
	}
	m, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	c := protobuf.Codec{Deterministic: true}
	want, err := c.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if got, err := c.Marshal(m); err != nil || string(got) != string(want) {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
}

// BenchmarkMarshal compares the codec with the library it uses.
func BenchmarkMarshal(b *testing.B) {
	m := wrapperspb.String(strings.Repeat("x", 500))
	buf := make([]byte, 0, 1024)
	b.Run("codec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (protobuf.Codec{}).Append(buf, m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (proto.MarshalOptions{}).MarshalAppend(buf, m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkUnmarshal compares the codec with the library it uses.
func BenchmarkUnmarshal(b *testing.B) {
	data, err := proto.Marshal(wrapperspb.String(strings.Repeat("x", 500)))
	if err != nil {
		b.Fatal(err)
	}
	m := new(wrapperspb.StringValue)
	b.Run("codec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := (protobuf.Codec{}).Unmarshal(data, m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := proto.Unmarshal(data, m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
