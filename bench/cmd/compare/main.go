// Compare measures two versions of ferry against each other: this tree (head) and a commit (base), in one run.
//
// Each benchmark (package harness calls it a question) is a program. Compare builds this program in both trees, together
// with the ferry binary or the ferry packages that the benchmark measures. Then it alternates between the two programs:
// base head, head base, base head. Other load on the machine slows both versions alike, so no round is discarded. Rows that
// are still undecided after -rounds rounds are measured again, up to -most rounds.
//
// The figure of a row is the median over the rounds of head's headline divided by base's headline. Where a higher headline is
// better, the quotient is inverted: 1.02 always means that head is 2 % worse. Exit status 1 means that a row is worse than
// -limit, or that a row could not be measured.
//
//	go run ./cmd/compare -rounds 7 v0.1.0 proxy_http1 field_lookup
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// settings holds the values of the command-line flags.
type settings struct {
	rounds int           // minimum number of rounds for each row and case
	most   int           // maximum number of rounds for undecided rows
	limit  float64       // head is worse if its ratio to base is above limit
	budget time.Duration // duration of one measurement; 0 means the benchmark's default
	cases  string        // pattern that selects cases; empty selects all
	rows   string        // pattern that selects rows; empty selects all
}

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 7, "how often each row and case of each version is measured")
	flag.IntVar(&s.most, "most", 0, "how often those that are undecided are measured; 0 means three times -rounds")
	flag.Float64Var(&s.limit, "limit", 1.02, "the ratio of head to base above which head is worse")
	flag.DurationVar(&s.budget, "budget", 0, "time for one measurement; 0 means the question's default")
	flag.StringVar(&s.cases, "cases", "", "regular expression: measure only cases that match")
	flag.StringVar(&s.rows, "rows", "", "regular expression: measure only rows that match")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: compare [FLAGS] BASE QUESTION...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() < 2 {
		flag.Usage()
		os.Exit(2)
	}
	if s.most == 0 {
		s.most = 3 * s.rounds
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	worse, err := run(ctx, os.Stdout, s, flag.Arg(0), flag.Args()[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
	}
	if worse || err != nil {
		os.Exit(1)
	}
}

// run compares the benchmarks one after the other. If a benchmark cannot be compared, run continues with the next one.
func run(ctx context.Context, w io.Writer, s settings, base string, questions []string) (worse bool, err error) {
	filter, err := newFilter(s.rows, s.cases)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "ferry-compare-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	trees, err := checkout(dir, base)
	if err != nil {
		return false, err
	}
	var failures []error
	for _, question := range questions {
		c, err := compare(ctx, s, filter, trees, question)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", question, err))
			continue
		}
		fmt.Fprintln(w, c.table(base, s.limit))
		worse = worse || c.worse(s.limit)
	}
	return worse, errors.Join(failures...)
}

// compare builds, starts and measures both versions of a benchmark.
func compare(ctx context.Context, s settings, filter filter, t trees, question string) (*comparison, error) {
	var versions [2]*program
	for i, tree := range []string{t.base, t.head} {
		fmt.Fprintf(os.Stderr, "compare: building %s in %s\n", question, tree)
		p, err := start(ctx, tree, t.dir, question, s.budget)
		if err != nil {
			return nil, err
		}
		defer p.stop()
		versions[i] = p
	}
	c, err := newComparison(versions[0].inventory, versions[1].inventory, filter)
	if err != nil {
		return nil, err
	}
	return c, c.measure(ctx, s, versions[0], versions[1])
}
