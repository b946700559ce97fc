package main

import (
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/rpcload"
)

// recorded are go-micro, whose version 1 is the seed. Version 1 cannot be had as a module that builds. The go.mod of version 5 requires the
// drivers of MySQL, PostgreSQL, SQLite and Redis, and the clients of etcd, Consul and RabbitMQ: too much for a row of the past.
var recorded = []harness.Contender{
	goMicro("go-micro v1, tcp and rpc, as recorded", "v1.2.0", 48.8, 39_000, 11_800),
	goMicro("go-micro v5, grpc, as recorded", "v5.30.0", 64.6, 28_000, 9_200),
	goMicro("go-micro v5, its default, as recorded", "v5.30.0", 244.7, 8_000, 29_500),
}

func goMicro(name, version string, cpu, tps, p99 float64) harness.Contender {
	return harness.Contender{
		Name: name, Kind: harness.Seed, Version: version + ", recorded on another day",
		Recorded: map[string]harness.Figures{busy: {rpcload.PerCall: cpu, rpcload.TPS: tps, rpcload.P99: p99}},
	}
}
