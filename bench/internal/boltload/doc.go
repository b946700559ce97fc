// Package boltload makes load for a proxy of Bolt: a client that keeps requests in flight, and a backend that echoes them.
//
// Both are processes of the question's own program, pinned to cores, and each is one event loop that coalesces its writes. A request has a header map and random content; its response has to carry its id and all of its content, or Measure
// fails. What is measured lies between two moments at which the client itself reads the proxy's CPU time, so time and
// requests are of the same window. Linux only.
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
