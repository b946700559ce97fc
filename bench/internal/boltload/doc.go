// Package boltload generates load for a Bolt proxy: a client that keeps requests in flight, and a backend that echoes them.
//
// Client and backend are processes of the benchmark's own program, pinned to cores. Each runs one event loop that coalesces
// writes. A request has a header map and random content. Measure fails if a response does not carry the request's id and its
// whole content. The client reads the proxy's CPU time at the start and at the end of a window, and counts the requests
// between the two readings. So the CPU time and the request count cover the same window. Linux only.
//
//	func main() {
//		boltload.Main()
//		ferry, err := boltload.Build(dir, "ferry")
//		if err != nil {
//			log.Fatal(err)
//		}
//		argv, err := ferry.Command(dir, boltload.Shipped)
//		if err != nil {
//			log.Fatal(err)
//		}
//		r, err := boltload.Trial{
//			Load: boltload.FourEach, At: boltload.Shipped, Dir: dir, Argv: argv, Warm: time.Second, Window: time.Second,
//		}.Run()
//		fmt.Println(r.Figures()[boltload.PerRequest], err)
//	}
package boltload
