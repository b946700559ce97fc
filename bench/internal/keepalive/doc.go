// Package keepalive generates load over keep-alive connections, one request at a time on each, and provides the backend. Over
// HTTP/2, each connection has many requests in flight. Connections have TLS if Spec.CA is set.
//
// Client and backend are processes of the benchmark's own program, so main begins with a call of Main. The client is one
// thread with raw sockets and epoll. It connects when it starts, and leaves its connections open between runs, so that the
// benchmark can measure the cost of idle connections. A Run does one of three things. It keeps all connections busy (closed
// loop). Or it sends at a fixed rate, over all connections in turn, and measures from when each request was due (open loop).
// Or it sends one request on each connection. The requests of Routed take many routes of a proxy in turn.
//
// The backend responds to each request with a body of the same size, which begins with the mark of the request. The client
// verifies status, length and every byte. If a response is wrong or the proxy closes a connection, the client counts a failure
// and opens the connection again. The wire Bodies is for large files and uploads, in front of any server; it has no backend. Linux only.
//
//	func main() {
//		keepalive.Main()
//		harness.Main(question())
//	}
//
//	backend, err := keepalive.StartBackend([]int{1}, keepalive.HTTP1, "127.0.0.1:18090")
//	client, err := keepalive.StartClient(keepalive.Spec{Wire: keepalive.HTTP1, Addr: "127.0.0.1:18080", Conns: 500, Cores: []int{1}})
//	report, err := client.Run(keepalive.Load{Warm: time.Second, Window: 3 * time.Second, PIDs: proxy.Family()})
//	fmt.Println(report.CPU / time.Duration(report.Requests), report.Times.Quantile(0.99))
package keepalive
