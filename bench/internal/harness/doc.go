// Package harness asks one question of several contenders, in one run and on the same bytes, and writes down the answer.
//
// A question is a program: bench/NAME/main.go builds a Question and calls Main. First its checks run, so that nothing is
// timed that does not do the work; then the contenders take turns (A B C, A B C ...), so that what disturbs the machine
// disturbs all of them; a round that was disturbed anyway is void and repeated. What counts is the ratio within a round.
// The answer goes to results/NAME.json, NAME.md and NAME.svg; bench/cmd/report makes one page of all answers.
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
