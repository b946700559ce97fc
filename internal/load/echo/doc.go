// Package echo is the service that the matrix of ferry load calls, and the benchmarks of rpc: one method, whose message is that of rpcx's
// benchmark, 581 bytes as protobuf, with a Go type for each codec. The server sets two fields and sends the message back; the client
// verifies each response.
//
//	echo.Of("application/cbor").Handle(srv)
//	say := echo.Of("application/cbor").Caller(client)
//	err := say(ctx)
package echo
