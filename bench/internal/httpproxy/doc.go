// Package httpproxy starts HTTP proxies, ferry and its peers, each with a configuration tuned for forwarding.
//
// Each proxy forwards requests from its listener to one upstream, over keep-alive connections on both sides. There is no
// access log and no limit of requests per connection, and idle upstream connections stay open. Setup.Workers sets the number
// of workers, threads or loops. nginx, HAProxy and Caddy have to be installed; package envoy installs Envoy. The proxies built
// on fasthttp and on the standard library are a few lines each, and run as processes of the benchmark's own program. Peers
// omits a program that is not installed, and says so in a note. Linux only.
//
//	func main() {
//		httpproxy.Main()
//		harness.Main(question())
//	}
//
//	peers, notes := httpproxy.Peers()
//	p, err := peers[0].Start(httpproxy.Setup{
//		Dir: dir, Cores: []int{0}, Workers: 1, Listen: "127.0.0.1:18080", Upstream: "127.0.0.1:18090",
//	})
package httpproxy
