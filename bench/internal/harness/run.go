package harness

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

// Config holds the settings of a run. `make bench` uses the zero value.
type Config struct {
	Rounds int           // number of rounds in the result; 0 means 5
	Most   int           // maximum number of rounds to run, including void rounds; 0 means three times Rounds
	Budget time.Duration // duration of one measurement; 0 means 50 ms
	Dir    string        // directory of the result files; empty means results
	Log    io.Writer     // writer for progress messages; nil discards them
	Serve  bool          // call Serve on standard input and output; write no result
}

func (c Config) withDefaults() Config {
	if c.Rounds <= 0 {
		c.Rounds = 5
	}
	if c.Most <= 0 {
		c.Most = c.Rounds * (1 + extraRounds)
	}
	if c.Budget <= 0 {
		c.Budget = 50 * time.Millisecond
	}
	if c.Dir == "" {
		c.Dir = "results"
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	return c
}

// Main parses the command line, measures q, prints the result and writes the result files. On failure it exits the process.
func Main(q Question) {
	c := Flags()
	flag.Parse()
	Ask(q, c)
}

// Flags defines the flags of Main. A benchmark with flags of its own calls Flags, defines its flags, calls flag.Parse, and then
// calls Ask in place of Main.
func Flags() *Config {
	c := &Config{Log: os.Stderr}
	flag.IntVar(&c.Rounds, "rounds", 5, "rounds that count; fewer than 3 are not a result")
	flag.DurationVar(&c.Budget, "budget", 50*time.Millisecond, "time for one measurement")
	flag.StringVar(&c.Dir, "out", "results", "directory for the result")
	flag.BoolVar(&c.Serve, "serve", false, "measure what JSON lines on standard input ask for: see bench/cmd/compare")
	return c
}

// Ask does what Main does after flag.Parse.
func Ask(q Question, c *Config) {
	if err := measureAndWrite(q, *c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measureAndWrite(q Question, c Config) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if c.Serve {
		return Serve(q, c.withDefaults().Budget, os.Stdin, os.Stdout)
	}
	r, err := Run(ctx, q, c)
	if err != nil {
		return err
	}
	fmt.Print(r.Markdown())
	return r.WriteFiles(c.Dir)
}

// Run prepares q, runs its checks, and then runs the rounds. Run stops at the first check or measurement that fails.
func Run(ctx context.Context, q Question, c Config) (*Result, error) {
	c = c.withDefaults()
	if err := q.validate(); err != nil {
		return nil, err
	}
	remove, err := q.prepare()
	if err != nil {
		return nil, err
	}
	defer remove()
	for _, check := range q.Checks {
		if err := check.Run(); err != nil {
			return nil, fmt.Errorf("%s: check %q: %w", q.Name, check.Name, err)
		}
	}
	machine := thisMachine()
	watch := new(spinTimer)
	var rounds []round
	for good := 0; good < c.Rounds && len(rounds) < c.Most; {
		r, err := oneRound(ctx, q, c.Budget, watch)
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, r)
		verdict := "void"
		if !r.void() {
			good++
			verdict = "counts"
		}
		if q.Disturbed == nil {
			fmt.Fprintf(c.Log, "%s: round %d: %.0f %% of the spins were slow: %s\n", q.Name, len(rounds), 100*r.slow, verdict)
		} else {
			fmt.Fprintf(c.Log, "%s: round %d: %d measurements disturbed: %s\n", q.Name, len(rounds), r.disturbed, verdict)
		}
	}
	r, err := newResult(q, machine, leastDisturbed(rounds, c.Rounds), len(rounds))
	if err == nil && q.Charts != nil {
		if r.Charts, err = q.Charts(r); err != nil {
			return nil, fmt.Errorf("%s: charts: %w", q.Name, err)
		}
	}
	return r, err
}

// oneRound measures each contender in each case once. The contenders of one case are measured one after the other.
func oneRound(ctx context.Context, q Question, budget time.Duration, watch *spinTimer) (round, error) {
	r := round{figures: make(map[string]map[string]Figures)}
	for _, name := range q.Cases {
		for _, c := range q.Contenders {
			if c.Measure == nil {
				continue
			}
			if ctx.Err() != nil {
				return r, errors.New("interrupted: nothing was written")
			}
			f, disturbed, err := measure(ctx, q, c, name, budget, watch)
			if err != nil {
				return r, fmt.Errorf("%s: %s, %s: %w", q.Name, c.Name, name, err)
			}
			if f == nil {
				continue
			}
			if disturbed {
				r.disturbed++
			}
			if r.figures[c.Name] == nil {
				r.figures[c.Name] = make(map[string]Figures)
			}
			r.figures[c.Name][name] = f
		}
	}
	r.slow = watch.endRound()
	return r, nil
}

// measure measures a contender in a case, and repeats a disturbed measurement.
func measure(ctx context.Context, q Question, c Contender, name string, budget time.Duration, watch *spinTimer) (f Figures, disturbed bool, err error) {
	for range tries {
		if q.Disturbed == nil {
			watch.spin()
		}
		if f, err = c.Measure(name, budget); err != nil || f == nil {
			return nil, false, err
		}
		disturbed = q.Disturbed != nil && q.Disturbed(f)
		if !disturbed || ctx.Err() != nil {
			break
		}
	}
	return f, disturbed, nil
}
