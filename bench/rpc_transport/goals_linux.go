package main

import (
	"math"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/rpcload"
)

func goals(systems []rpcload.System) []harness.Goal {
	over := func(a, b, figure string) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 { return r.Ratio(a, b, busy, figure) }
	}
	return []harness.Goal{
		harness.AtMost(1.2, "CPU time, times the limit's", over(rpcload.Ferry, rpcload.Limit, rpcload.PerCall)),
		harness.AtMost(0.7, "CPU time, times arpc's", over(rpcload.Ferry, rpcload.Arpc, rpcload.PerCall)),
		harness.AtLeast(1.5, "calls a second, times arpc's", over(rpcload.Ferry, rpcload.Arpc, rpcload.TPS)),
		harness.AtLeast(2.5, "calls a second, times grpc-go's", over(rpcload.Ferry, rpcload.GRPCGo, rpcload.TPS)),
		harness.AtMost(3000, "99th percentile, us", func(r *harness.Result) float64 { return r.Stat(rpcload.Ferry, busy, rpcload.P99).Median }),
		harness.AtMost(1, "gRPC server under grpc-go's client: CPU time, times grpc-go's", over(rpcload.FerryGRPCServe, rpcload.GRPCGo, rpcload.PerCall)),
		harness.AtMost(0.6, "gRPC at both ends: CPU time, times grpc-go's", over(rpcload.FerryGRPC, rpcload.GRPCGo, rpcload.PerCall)),
		harness.AtMost(0.6, "QUIC: CPU time, times a stream of quic-go for each call", over(rpcload.FerryQUIC, rpcload.QUICGo, rpcload.PerCall)),
		harness.AtMost(1.1, "JSON-RPC over HTTP/1.1: CPU time, times fasthttp's", over(rpcload.FerryHTTP, rpcload.FastHTTP, rpcload.PerCall)),
		harness.AtMost(0.35, "JSON-RPC over HTTP/1.1: CPU time, times connect's", over(rpcload.FerryHTTP, rpcload.Connect, rpcload.PerCall)),
		harness.AtMost(0, "failed calls, of all rows", func(r *harness.Result) float64 {
			most := math.NaN()
			for _, s := range systems {
				if x := r.Stat(s.Name, busy, rpcload.Failures).Max; math.IsNaN(most) || x > most {
					most = x
				}
			}
			return most
		}),
	}
}
