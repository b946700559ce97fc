package rpcload

import (
	"bufio"
	"io"
	netrpc "net/rpc"
	"net/rpc/jsonrpc"
	"runtime"

	arpccodec "github.com/lesismal/arpc/codec"
	ugorji "github.com/ugorji/go/codec"

	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/native"
)

// Systems are all rows that differ in their transport or their server.
func Systems() []System {
	return append(ferrySystems(), mux(), arpcSystem(Arpc, protoCodec{}, protoKind), grpcGo(GRPCGo, protoKind), netRPC(NetRPC, runtime.Version(), netRPCCodec{}, protoKind),
		netHTTP(), fastHTTP(), quicGo(), kitexSystem(), rpcxSystem(), connectSystem(), drpcSystem())
}

// Format is a System with messages of a content type. Several Formats are one row.
type Format struct {
	Row, Content string
	System
}

// The rows of Formats besides Ferry and Arpc and GRPCGo.
const (
	NetJSONRPC  = "net/rpc/jsonrpc"
	Ugorji      = "net/rpc, ugorji codecs"
	Sourcegraph = "sourcegraph/jsonrpc2"
)

// Formats are ferry's native protocol over TCP with each content type, and the peers that have messages of the same format.
func Formats() []Format {
	var all []Format
	add := func(row, contentType string, s System) {
		s.Name = row + " " + contentType
		all = append(all, Format{row, contentType, s})
	}
	for _, c := range content.All() {
		add(Ferry, c.Type, ferrySystem("", "tcp", native.Protocol{}, c.Type))
	}
	add(Arpc, protobufType, arpcSystem("", protoCodec{}, protoKind))
	add(Arpc, jsonType, arpcSystem("", &arpccodec.JSONCodec{}, plainKind))
	add(GRPCGo, "application/grpc", grpcGo("", protoKind))
	add(GRPCGo, "application/grpc+proto", grpcGo("", protoKind))
	add(GRPCGo, "application/grpc+json", grpcGo("", plainKind, jsonCodec{}))
	add(NetJSONRPC, "application/json-rpc", netRPC("", runtime.Version(), netRPCCodec{jsonrpc.NewServerCodec, jsonrpc.NewClientCodec}, plainKind))
	add(Sourcegraph, "application/jsonrpc2", jsonRPC2(""))
	add(Ugorji, "application/cbor", netRPC("", ugorjiVersion, ugorjiCodec(ugorji.GoRpc, new(ugorji.CborHandle)), plainKind))
	msgpack := &ugorji.MsgpackHandle{WriteExt: true} // texts as texts
	msgpack.RawToString = true
	add(Ugorji, "application/msgpackrpc", netRPC("", ugorjiVersion, ugorjiCodec(ugorji.MsgpackSpecRpc, msgpack), plainKind))
	return all
}

// FormatSystems are the systems of Formats, for Main.
func FormatSystems() (all []System) {
	for _, f := range Formats() {
		all = append(all, f.System)
	}
	return all
}

const ugorjiVersion = "v1.3.2"

// ugorjiCodec gives connections buffers, as the documentation recommends: without, each byte is a read of its own.
func ugorjiCodec(r ugorji.Rpc, h ugorji.Handle) netRPCCodec {
	return netRPCCodec{
		func(c io.ReadWriteCloser) netrpc.ServerCodec { return r.ServerCodec(newBuffered(c), h) },
		func(c io.ReadWriteCloser) netrpc.ClientCodec { return r.ClientCodec(newBuffered(c), h) },
	}
}

// buffered is a connection with buffers. Its user calls Flush after each message.
type buffered struct {
	io.Closer
	*bufio.Reader
	*bufio.Writer
}

func newBuffered(c io.ReadWriteCloser) buffered {
	return buffered{c, bufio.NewReader(c), bufio.NewWriter(c)}
}
