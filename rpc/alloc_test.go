package rpc_test

import (
	"context"
	"errors"
	"testing"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/envelope"
)

// letter is a message of one byte, and letterCodec encodes it without an allocation.
type letter struct{ b byte }

type letterCodec struct{}

func (letterCodec) Name() string { return "letter" }

func (c letterCodec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

func (letterCodec) Append(dst []byte, v any) ([]byte, error) {
	if l, ok := v.(*letter); ok {
		return append(dst, l.b), nil
	}
	return dst, errors.New("not a letter")
}

func (letterCodec) Unmarshal(data []byte, v any) error {
	if l, ok := v.(*letter); ok && len(data) == 1 {
		l.b = data[0]
		return nil
	}
	return errors.New("not a letter")
}

// TestCallAllocations: beside the protocol, a client allocates the response, and a server the call with its request. The protocol
// of the test allocates a context without values, the peer, and the bytes of the response.
func TestCallAllocations(t *testing.T) {
	contents := []envelope.Content{{Type: "application/letter", Codec: letterCodec{}}}
	p := newDirect()
	p.Inline = true
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: contents})
	out := &letter{'b'}
	rpc.Handle(srv, "letters.Letters.Next", func(_ context.Context, in *letter) (*letter, error) {
		if in.b != 'a' {
			return nil, errors.New("want a")
		}
		return out, nil
	})
	listen(t, p, srv, "a")
	c := dial(t, p, "a", &rpc.ClientConfig{Contents: contents})
	ctx, in := t.Context(), &letter{'a'}
	one := func() {
		if out, err := rpc.Call[letter](ctx, c, "letters.Letters.Next", in); err != nil || out.b != 'b' {
			t.Fatalf("got %v, %v", out, err)
		}
	}
	one()
	const client, server, protocol = 1, 1, 3
	if n := testing.AllocsPerRun(1000, one); n > client+server+protocol && !raceEnabled {
		t.Errorf("%v allocations, want at most %d", n, client+server+protocol)
	}
}

func BenchmarkCall(b *testing.B) {
	contents := []envelope.Content{{Type: "application/letter", Codec: letterCodec{}}}
	p := newDirect()
	p.Inline = true
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: contents})
	out := &letter{'b'}
	rpc.Handle(srv, "letters.Letters.Next", func(context.Context, *letter) (*letter, error) { return out, nil })
	listen(b, p, srv, "a")
	c := dial(b, p, "a", &rpc.ClientConfig{Contents: contents})
	ctx, in := b.Context(), &letter{'a'}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rpc.Call[letter](ctx, c, "letters.Letters.Next", in); err != nil {
			b.Fatal(err)
		}
	}
}
