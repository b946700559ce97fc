// Package keepalive asks for things over many connections that stay, one request at a time on each, and answers them.
//
// Both ends are processes of their own: the question's own program started again, so its main begins with Main. The client is
// one thread with raw sockets and epoll. It connects when it is started, and holds its connections while the question looks at
// what they cost; each Run then has all of them busy (closed loop), or asks at a fixed rate, in turn over all connections and
// measured from when each request was due (open loop), or once on each. The backend answers each request with a body of the same size that
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
