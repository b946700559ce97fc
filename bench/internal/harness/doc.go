// Package harness measures several contenders in one run on the same bytes, and writes the result.
//
// A question is a program: bench/NAME/main.go builds a Question and calls Main. Its checks run first: a contender that does
// not do the work is not timed. Then the contenders take turns (A B C, A B C ...), so that other programs disturb all of
// them alike. A disturbed round is void and repeated. Ratios are computed within a round. The result goes to
// results/NAME.json, NAME.md and NAME.svg; bench/cmd/report makes one page of all results.
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
