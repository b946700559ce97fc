// Package keepalive generates load over keep-alive connections, one request at a time on each, and has the backend for it.
//
// Client and backend are processes: the question's own program started again, so its main begins with Main. The client is
// one thread with raw sockets and epoll. It connects when it starts, and keeps its connections open between runs, so that the
// question can measure their cost. A Run keeps all connections busy (closed loop), or sends at a fixed rate, in turn over all
// connections and measured from when each request was due (open loop), or sends once on each. The backend responds to each request with a body of the same size that
// begins with the same mark; the client verifies status, length and every byte. What a connection does that it should not,
// closing included, is a failure: it is counted, and made again. Linux only.
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
