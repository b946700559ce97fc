// Package openloop sends HTTP requests at times that do not depend on the responses, and measures from when each request was
// due.
//
// The generator is a process: the question's own program started again, so its main begins with Main. It is one thread with
// raw sockets and epoll, in the real-time class SCHED_FIFO where that is permitted: it is on time even if all cores are busy.
// Its Report includes how late it was. A request without a response counts with its age at the end. A generator can also keep
// a number of other requests in flight, and read a counter of the server at both ends of the window. It adds up the CPU time
// of the experiment and of other programs. Linux only.
//
//	func main() {
//		openloop.Main()
//		harness.Main(question())
//	}
//
//	r, err := openloop.Measure(openloop.Spec{
//		Addr:   addr,
//		Open:   []openloop.Open{{Path: "/delay1ms", Rate: 1000}},
//		Closed: []openloop.Closed{{Path: "/checksum", InFlight: 10}},
//		Warm:   time.Second, Window: 3 * time.Second,
//	})
//	p99 := r.Open[0].Quantile(0.99)
package openloop
