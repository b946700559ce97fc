// Package interop shows that programs made by others talk through ferry's proxy as they do without it.
//
// It holds tests only. java/ has a client and a server made with the SOFABolt library that services in Java use; the test
// starts them as programs of their own, first face to face, which tests the test, then with a proxy between them, then with
// two, as sidecars are. The client says of each way of calling how many calls went as they should. For HTTP/1.1 the program
// ferry itself is run, with a configuration of examples/proxy: curl, ab, wrk, h2load, and clients in Node and Python ask
// servers in Go, Node and Python, and nginx. Others flood it, or send nothing, or what is two requests to some and one to others.
//
//	make deps                    // once: a JDK, the library's jars, nginx and the other programs
//	go test ./proxy/interop -v
package interop
