// Package loop drives many connections from one goroutine per core.
//
// A Group runs one Loop per core; on Linux a loop is a goroutine with an epoll instance, elsewhere more goroutines stand in for
// that. A connection is a Conn, and everything that happens to it is a call of its Handler, made by its loop and nowhere
// else: no locks, no goroutine a connection, and no buffer for one that is idle. Received bytes are lent to Data, written
// ones are gathered and leave with one system call at the end of the loop's turn. A handler never waits and never computes
// for long: such work belongs on a goroutine, which comes back with Loop.Post.
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
