// Package rawpoll is TCP sockets and epoll with nothing around them: what load makers and limits are made of.
//
// Descriptors do not block, and calls that cannot wait are made without telling Go's scheduler of them, which saves a microsecond
// or more a message. So a program that uses it locks its goroutine to a thread, and does one thing. Linux only.
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
