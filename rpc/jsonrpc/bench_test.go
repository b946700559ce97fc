package jsonrpc_test

import (
	"testing"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/jsonrpc"
)

// BenchmarkCall makes calls over TCP, one after another and many at once.
func BenchmarkCall(b *testing.B) {
	addr, _ := listen(b, newServer(b), jsonrpc.Protocol{})
	c := dial(b, addr)
	one := func(b *testing.B) {
		if _, err := rpc.Call[helloReply](b.Context(), c, "greeter.Greeter.Hello", &helloRequest{"Bo"}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			one(b)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(20)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				one(b)
			}
		})
	})
}
