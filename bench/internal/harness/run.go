package harness

import (
	"context"
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
	Most   int           // maximum number of rounds, as long as goals are undecided; 0 means twice Rounds
	Budget time.Duration // duration of one measurement; 0 means 50 ms
	Dir    string        // directory of the result files; empty means results
	Log    io.Writer     // writer for progress messages; nil discards them
	Serve  bool          // call Serve on standard input and output; write no result
	Once   bool          // no A/A row, and no disturbed measurement is repeated: for tests
}

func (c Config) withDefaults() Config {
	if c.Rounds <= 0 {
		c.Rounds = 5
	}
	if c.Most <= 0 {
		c.Most = 2 * c.Rounds
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
	flag.IntVar(&c.Rounds, "rounds", 5, "rounds; with fewer than 3, all goals are undecided")
	flag.IntVar(&c.Most, "most", 0, "rounds as long as goals are undecided; 0 means twice -rounds")
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

// Run prepares q, runs its checks, and then runs the rounds. While a goal is undecided after Config.Rounds rounds, Run adds
// rounds, up to Config.Most. Run stops at the first check or measurement that fails.
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
	if !c.Once {
		q = q.withAgain()
	}
	t := &turns{q: q, budget: c.Budget, once: c.Once, usage: usedByRun}
	var rounds []round
	for {
		one, err := t.measureRound(ctx, len(rounds)%2 == 1)
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, one)
		r, err := newResult(q, machine, rounds)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(c.Log, "%s: round %d: %s\n", q.Name, len(rounds), r.progress())
		if len(rounds) < c.Rounds || len(rounds) < c.Most && r.undecided() {
			continue
		}
		if q.Charts != nil {
			if r.Charts, err = q.Charts(r); err != nil {
				return nil, fmt.Errorf("%s: charts: %w", q.Name, err)
			}
		}
		return r, nil
	}
}
