// Package interop tests that other programs work through ferry's proxy in the same way as without a proxy.
//
// It has tests only. java/ has a client and a server that use the SOFABolt library of Java services. The test first
// runs them without a proxy, which checks the test itself. Then it runs them with one proxy, and with two proxies as
// sidecars. The client prints how many calls of each kind succeeded. For HTTP/1.1 the test runs the program ferry
// with a configuration of examples/proxy. curl, ab, wrk, h2load, and clients in Node and Python send requests to
// servers in Go, Node and Python, and to nginx. For HTTP/2 and TLS, a gateway has listeners in cleartext and with TLS
// in front of servers of each kind; h2spec, nghttp and clients of gRPC are there too. Hostile clients flood ferry,
// stay silent, or send requests that some servers parse as two.
//
//	make deps                    // once: a JDK, the library's jars, nginx and the other programs
//	go test ./proxy/interop -v
package interop

// Files: tests: programs made by others talk through the proxy: the Java client and server of SOFABolt in java/, curl, load
// makers, nginx, nghttp2, gRPC, Node and Python in testdata/, each version of HTTP to each, in cleartext and over TLS;
// hostile_test.go and attack_test.go have clients that mean no good.
