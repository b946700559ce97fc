// Package rawpoll is TCP sockets and epoll by system calls, for load generators and limits.
//
// Descriptors do not block. Calls that cannot wait are raw system calls, of which Go's scheduler is not informed: that saves a
// microsecond or more a message. A program that uses it locks its goroutine to a thread. Linux only.
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
