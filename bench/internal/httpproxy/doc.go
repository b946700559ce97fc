// Package httpproxy starts HTTP proxies, ferry and its peers, each with a configuration tuned for forwarding.
//
// Each forwards requests from where it listens to one upstream, over connections that stay on both sides: no access log, no
// limit to the requests of a connection, idle connections of the upstream kept, as many workers, threads or loops as asked
// for. nginx, HAProxy and Caddy are those that are installed, Envoy is package envoy's; fasthttp's and the standard library's
// are proxies of a few lines, and processes of the question's own program. A program that is not installed has no row: Peers says
// why. Linux only.
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
