// Package loop drives many connections from one goroutine per core.
//
// A Group runs one Loop per core. On Linux a loop is a goroutine with an epoll instance. On other systems a loop uses several
// goroutines. New connections are spread evenly over the loops. A Conn is one connection. Its loop calls its Handler for every
// event, so there are no locks, no goroutine for each connection, and no buffer for an idle connection. The loop lends the
// received bytes to Data. It collects written bytes and writes them with one system call at the end of its turn. A handler must
// not block or compute for long: such work runs on a goroutine, which returns its result with Loop.Post. A Layer, such as TLS,
// may stand between a Conn and its socket.
//
//	type echo struct{ loop.Base }
//
//	func (echo) Data(c *loop.Conn, p []byte) int { c.Write(p); return len(p) }
//	func (echo) HalfClosed(c *loop.Conn)         { c.Close() }
//
//	func main() {
//		g, err := loop.New(nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		addr, _ := loop.ParseAddr("127.0.0.1:7007")
//		if _, err := g.Listen(addr, func(*loop.Conn) loop.Handler { return echo{} }); err != nil {
//			log.Fatal(err)
//		}
//		select {}
//	}
package loop

// Files: many connections driven by one loop per core: loop.go is a turn, read.go and write.go a connection's bytes,
// layer.go what may stand between it and its socket (TLS), acceptor.go accepts, spread.go chooses the loop of a new
// connection, splice.go passes bytes on without a copy, memory.go bounds its queues together, wheel.go is the timers.
// sockets.go is the interface to the system, which epoll_linux.go and goroutines.go implement.
