// Package child starts processes that a benchmark consists of besides its own: roles of the same program, and other programs.
//
// A role gets its spec in an environment variable. It reads orders as JSON lines from standard input, and writes a report as a JSON
// line to standard output when it is ready and after each order. It ends when its standard input ends, so no role outlives the
// benchmark.
//
//	func main() {
//		child.Main("FERRY_BENCH_SPEC", begin) // does not return in a role
//		...
//		var ready report
//		p, err := child.Role("source", "FERRY_BENCH_SPEC", spec{...}, &ready, 10*time.Second)
//		defer p.End()
//		var r report
//		err = p.Ask(order{Count: 1000}, &r, time.Minute)
//	}
package child
