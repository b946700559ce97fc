package conformance

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Case is one thing that an implementation of docs/native.md does. A Case checks one idea.
type Case struct {
	Name    string `json:"name"`    // a group and a name, such as credit/window
	Section string `json:"section"` // the heading in docs/native.md that it proves
	Idea    string `json:"idea"`    // one sentence: what the implementation does
}

// Verdict says how a case ended.
type Verdict string

// The verdicts. Skip means that the case does not apply: the implementation has no such feature, or the kit was not given what the
// case needs.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	Skip Verdict = "skip"
)

// Result is the verdict on one case.
type Result struct {
	Case
	Verdict Verdict `json:"verdict"`
	Want    string  `json:"want,omitempty"` // of a failed case: what was expected
	Got     string  `json:"got,omitempty"`  // of a failed case: what came, frames in hex; of a skipped one: why
	Log     string  `json:"log,omitempty"`  // of a failed case: the end of what the driver has printed about itself
}

// Options are those of both directions.
type Options struct {
	// Run selects the cases whose name it matches. Nil means all.
	Run *regexp.Regexp

	// Timeout bounds each case. Zero means 10 s. A case whose implementation does what is expected never waits for it.
	Timeout time.Duration

	// Report is called with each result, before the next case begins. Nil means that the result of the function is enough.
	Report func(Result)
}

// defaultTimeout bounds a case unless Options say otherwise.
const defaultTimeout = 10 * time.Second

// clientCase is a Case for clients. A node plays run.
type clientCase struct {
	Case
	run func(*clientRun)
}

// nodeCase is a Case for nodes. Clients play run.
type nodeCase struct {
	Case
	run func(*nodeRun)
}

// ClientCases returns the cases for clients, in the order in which they run.
func ClientCases() []Case {
	var list []Case
	for _, c := range clientCases() {
		list = append(list, c.Case)
	}
	return list
}

// NodeCases returns the cases for nodes, in the order in which they run.
func NodeCases() []Case {
	var list []Case
	for _, c := range nodeCases() {
		list = append(list, c.Case)
	}
	return list
}

// each calls play for each selected case, and reports the results.
func (o Options) each(ctx context.Context, cases []Case, play func(*run, int)) []Result {
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	var results []Result
	for i, c := range cases {
		if o.Run != nil && !o.Run.MatchString(c.Name) {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		r := newRun(ctx, timeout)
		verdict := r.play(func() { play(r, i) })
		result := Result{Case: c, Verdict: verdict.verdict, Want: verdict.want, Got: verdict.got}
		if result.Verdict == Fail {
			result.Log = r.log()
		}
		results = append(results, result)
		if o.Report != nil {
			o.Report(result)
		}
	}
	return results
}

// String returns the result as lines of text.
func (r Result) String() string {
	text := fmt.Sprintf("%s  %s", r.Verdict, r.Name)
	switch r.Verdict {
	case Skip:
		text += ": " + r.Got
	case Fail:
		text += fmt.Sprintf("\n      idea: %s (docs/native.md, %s)\n      want: %s\n      got:  %s", r.Idea, r.Section, r.Want, r.Got)
		if r.Log != "" {
			text += "\n      log:  " + strings.ReplaceAll(r.Log, "\n", "\n            ")
		}
	}
	return text
}
