// Package openloop asks an HTTP server for things at times that do not depend on its answers, and measures from when each
// request was due.
//
// The generator is a process of its own: the question's own program started again, so its main begins with Main. One
// thread does everything, with raw sockets and epoll, and the process is in the real-time class SCHED_FIFO where that is
// permitted, so that it is on time on a machine whose cores are all busy; how late it was is part of its Report. A request that was not
// answered in the end counts with its age. Beside these a generator keeps a number of other requests in flight, reads a
// counter of the server's at both ends of the window, and adds up who used the CPU meanwhile. Linux only.
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
