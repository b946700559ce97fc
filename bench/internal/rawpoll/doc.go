// Package rawpoll provides TCP sockets and epoll by direct system calls, for load generators and minimal proxies.
//
// Descriptors do not block. Calls that cannot wait are raw system calls, which do not inform Go's scheduler. That saves a
// microsecond or more per message. A program that uses this package has to lock its goroutine to a thread. Linux only.
//
//	listener, err := rawpoll.Listen(addr)
//	poll, err := rawpoll.New()
//	err = poll.Add(listener)
//	for {
//		ready, err := poll.Wait(-1)
//		for _, fd := range ready {
//			...
//		}
//	}
package rawpoll
