package rpc_test

import (
	"strings"
	"testing"

	"example.com/ferry/internal/wirecount"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

// TestCompression: the bytes on the wire are fewer than those of the message, in both directions.
func TestCompression(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("compressible ", 2000)
	for _, p := range []call.Protocol{native.Protocol{}, grpc.Protocol{}} {
		srv := rpc.NewServer(nil)
		rpc.Handle(srv, echoStruct, echo[value])
		l, err := srv.Listen(t.Context(), p, tcp.New(nil), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		wire := wirecount.New(tcp.New(nil))
		c, err := rpc.Dial(t.Context(), "tcp://"+l.Addr().String(), &rpc.ClientConfig{Protocol: p, Transports: []transport.Transport{wire}, Compression: "gzip"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, row := range []struct {
			name       string
			opts       []rpc.CallOption
			compressed bool
		}{
			{"gzip by default", nil, true},
			{"zstd", []rpc.CallOption{rpc.Compress("zstd")}, true},
			{"none", []rpc.CallOption{rpc.Compress("")}, false},
		} {
			written, read := wire.Written.Load(), wire.Read.Load()
			out, err := rpc.Call[value](t.Context(), c, echoStruct, &value{text}, row.opts...)
			if err != nil || out.Text != text {
				t.Errorf("%s, %s: %v", p.Name(), row.name, err)
				continue
			}
			sent, received := wire.Written.Load()-written, wire.Read.Load()-read
			if n := int64(len(text)); row.compressed != (sent < n/4) || row.compressed != (received < n/4) {
				t.Errorf("%s, %s: %d bytes were sent and %d received for messages of %d", p.Name(), row.name, sent, received, n)
			}
		}
	}
}
