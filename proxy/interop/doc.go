// Package interop tests that programs of others work through ferry's proxy as they do without it.
//
// It has tests only. java/ has a client and a server that use the SOFABolt library of Java services. The test runs them without a
// proxy, which tests the test, then with one proxy between them, then with two, as sidecars. The client prints how many calls of each
// kind succeeded. For HTTP/1.1 the test runs the program ferry with a configuration of examples/proxy. curl, ab, wrk, h2load, and
// clients in Node and Python send requests to servers in Go, Node and Python, and to nginx. Hostile clients flood ferry, stay silent,
// or send requests that some servers read as two.
//
//	make deps                    // once: a JDK, the library's jars, nginx and the other programs
//	go test ./proxy/interop -v
package interop
