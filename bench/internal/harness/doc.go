// Package harness runs the benchmarks of this module: it measures several contenders in one run on the same bytes, and writes
// the result.
//
// A question is one benchmark, for example "how long does a field lookup take?". Each question is a program:
// bench/NAME/main.go builds a Question and calls Main. A contender is one measured implementation, and a row of the report. A
// case is one input or load, and a column of the report. A round measures each contender once in each case. The seed is the
// original implementation: its results were recorded earlier, and are shown but not measured again.
//
// Main runs the checks first: a contender that does not do the work is not timed. Then the contenders take turns (A B C, C B
// A ...), so that other programs disturb all contenders alike. The harness reads from /proc what other programs and the
// hypervisor took from each measurement, and repeats a disturbed one. Ratios are computed within a round. The first row of
// ferry is measured twice in each round (A/A): the difference of the two is the error of a comparison. A goal that is closer to
// its figure than the error is undecided. Main writes the result to results/NAME.json, NAME.md and NAME.svg. The command
// bench/cmd/report makes one page of all results.
//
//	func main() { harness.Main(question()) }
//
//	func question() harness.Question {
//		return harness.Question{
//			Name: "copy", Unit: "ns/op", Better: harness.Lower, Cases: []string{"1 KiB"},
//			Contenders: []harness.Contender{{
//				Name: "copy", Kind: harness.Limit,
//				Measure: func(size string, budget time.Duration) (harness.Figures, error) {
//					return harness.Time(func(n int) { ... }, budget), nil
//				},
//			}},
//		}
//	}
package harness
