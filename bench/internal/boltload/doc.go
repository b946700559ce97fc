// Package boltload makes load for a proxy of Bolt: a client that keeps requests in flight, and a backend that echoes them.
//
// Both are processes of the question's own program, on the cores they are told, and each is one loop that gathers what it
// writes. A request has a header map and random content; its answer has to carry its id and all of its content, or Measure
// fails. What is measured lies between two moments at which the client itself reads the proxy's CPU time, so time and
// requests are of the same window. Linux only.
//
//	func main() {
//		boltload.Main()
//		backend, err := boltload.StartBackend([]int{1}, "127.0.0.1:12300")
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer backend.Stop()
//		r, err := boltload.Measure([]int{1}, boltload.Spec{
//			Addr: "127.0.0.1:12300", Conns: 100, InFlight: 4, Least: 1024, Most: 1024, Warm: time.Second, Window: time.Second,
//		}, nil)
//		fmt.Println(r.Requests, r.P99, err)
//	}
package boltload
