// Package transporttest tests a transport against the contract of package transport: bytes, closing, deadlines, contexts, and
// misbehaving peers.
//
//	func TestContract(t *testing.T) {
//		transporttest.Run(t, transporttest.Subject{
//			Server: tcp.New(nil), Client: tcp.New(nil),
//			Addr: func(*testing.T) string { return "127.0.0.1:0" },
//		})
//	}
package transporttest
