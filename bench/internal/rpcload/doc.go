// Package rpcload calls a method of a server over and over, with ferry's rpc and with other RPC systems, and measures the calls.
// Client and server are processes of their own: this program, started again. The message is that of rpcx's benchmark, 581 bytes
// as protobuf; the client verifies each response.
//
//	func main() {
//		rpcload.Main(rpcload.Systems())
//		harness.Main(question())
//	}
package rpcload
