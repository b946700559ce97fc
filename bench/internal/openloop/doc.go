// Package openloop sends HTTP requests at times that do not depend on the responses, and measures from when each request was
// due.
//
// The generator is a process of the benchmark's own program, so main begins with a call of Main. The generator is one thread
// with raw sockets and epoll. It runs in the real-time class SCHED_FIFO if that is permitted, so it sends on time even if all
// cores are busy. The Report includes how late each request was sent. A request without a response counts with its age at the
// end. The generator can also keep a number of other requests in flight, and read a counter of the server at the start and at
// the end of the window. It measures the CPU time of the experiment and of other programs. Linux only.
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
