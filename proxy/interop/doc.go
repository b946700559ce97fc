// Package interop shows that programs made by others talk through ferry's proxy as they do without it.
//
// It holds tests only. java/ has a client and a server made with the SOFABolt library that services in Java use; the test
// starts them as programs of their own, first face to face, which tests the test, then with a proxy between them, then with
// two, as sidecars are. The client says of each way of calling how many calls went as they should.
//
//	make deps                    // once: a JDK, and the library's jars
//	go test ./proxy/interop -v
package interop
