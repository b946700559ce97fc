// Rpc_transport compares RPC systems: what a call costs, how many a second are made, and how long each takes.
package main

import (
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/rpcload"
	"example.com/ferry/internal/load/echo"
	"example.com/ferry/transport/utp"
)

func main() {
	rpcload.Main(rpcload.Systems())
	harness.Main(newExperiment().question())
}

const (
	callers = 100
	conns   = 4
)

// the only case
const busy = "100 callers"

// seedCells has the seed's names of cells that are rows here.
var seedCells = map[string]string{rpcload.Ferry: "tcp+rpc", rpcload.FerryInGRPC: "grpc+rpc", rpcload.FerryUTP: "utp+rpc", rpcload.FerryGRPC: "tcp+grpc"}

// experiment is the state that all measurements of a run share.
type experiment struct {
	rpcload.Trial
	systems []rpcload.System
}

func newExperiment() *experiment {
	return &experiment{rpcload.Trial{Workers: callers, Conns: conns}, rpcload.Systems()}
}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "rpc_transport",
		Title:  "RPC: transports and servers",
		Unit:   rpcload.PerCall,
		Better: harness.Lower,
		About: "A unary call with the message of rpcx's benchmark, 581 bytes as protobuf (39 of 40 fields are set), by 100 callers at once. The handler sets two fields and sends the message back; the client verifies each response. " +
			"Client and server are processes of their own on the same two cores. Systems that can carry several calls on a connection have 4 connections. " +
			"CPU time is that of both processes, user and system, by the kernel's account. Calls have a deadline, which is sent with them where the protocol can.",
		Cases:   []string{busy},
		Figures: rpcload.Figures,
		Prepare: e.Prepare,
		Checks: []harness.Check{
			{Name: "the message takes 581 bytes", Run: echo.CheckMessage},
			{Name: "in each row every response is right, and in ferry's rows every byte has crossed the transport that the row names", Run: func() error { return e.Check(e.systems) }},
		},
		Charts: charts,
		Goals:  goals(e.systems),
		Notes: []string{
			"The limit is a bare protocol on TCP: google's protobuf, a goroutine with a context and a deadline for each request, and frames that are gathered before a write.",
			"Rows without a transport in their name are over TCP. ferry is the native protocol.",
			"A version with go-micro's name of a cell, such as tcp+rpc, is that cell of the seed's matrix. Its grpc+grpc and utp+grpc are an error of the seed, which says so itself: its gRPC server ignores the transport, so the 10,758, 10,845 and 10,675 calls a second that it prints for tcp+grpc, grpc+grpc and utp+grpc are one cell, measured three times.",
			"net/rpc, net/http, fasthttp, arpc, drpc and quic-go's row send no deadline. net/http, fasthttp, connect, drpc and JSON-RPC over HTTP use a connection for each call in flight.",
			"connect is over HTTP/1.1, in which it needs less CPU time than over HTTP/2. Its client asks for compressed responses unless it is told not to, as here.",
		},
	}
	if why := utp.Descriptor().Missing; why != "" {
		q.Notes = append(q.Notes, "There is no row for utp+rpc: "+why+". `make bench` builds it where there is a C++ compiler.")
	}
	for _, s := range e.systems {
		version := s.Version
		if cell := seedCells[s.Name]; cell != "" {
			version += ", " + cell
		}
		q.Contenders = append(q.Contenders, harness.Contender{Name: s.Name, Kind: s.Kind, Version: version, Open: func(string) (harness.Session, error) {
			return e.Open(s)
		}})
	}
	q.Contenders = append(q.Contenders, recorded...)
	return q
}
