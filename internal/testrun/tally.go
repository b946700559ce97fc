package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// event is one line of `go test -json`, as `go doc test2json` describes it.
type event struct {
	Action  string
	Package string
	Test    string // name of the test; empty if the event is about the package
	Output  string
	Elapsed float64 // seconds
}

// test identifies one test or subtest. An empty name identifies the package itself.
type test struct{ pkg, name string }

// top returns the test that k is a subtest of, or k.
func (k test) top() test {
	k.name, _, _ = strings.Cut(k.name, "/")
	return k
}

// skippedTest is one skipped test and the text of its t.Skip.
type skippedTest struct {
	test
	reason string
}

// tally counts tests and subtests, and writes the output of failed tests. Its methods add and skip may overlap.
type tally struct {
	mu             sync.Mutex
	w              io.Writer
	passed, failed int
	skipped        []skippedTest
	output         map[test][]string // output of the tests that have not ended
	failures       map[test]*failure // by test at the top level
	certain        bool              // at least one failure needs no second run: see failure
	again          []test            // tests that failed, and passed when they were run again
}

// failure is a failed test with its failed subtests.
type failure struct {
	batch batch
	path  string // import path of the package
	count int    // the test and its subtests
}

func newTally(w io.Writer) *tally {
	return &tally{w: w, output: make(map[test][]string), failures: make(map[test]*failure)}
}

// add adds an event of b.
func (t *tally) add(b batch, e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	path := e.Package
	if b.label != "" {
		e.Package = b.label + " " + path
	}
	k := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(t.w, e.Output)
	case "output":
		t.output[k] = append(t.output[k], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.endPackage(e)
		} else {
			t.endTest(k, e.Action, failure{batch: b, path: path})
		}
	}
}

func (t *tally) endTest(k test, action string, f failure) {
	switch action {
	case "pass":
		t.passed++
	case "fail":
		t.failed++
		if t.failures[k.top()] == nil {
			t.failures[k.top()] = &f
		}
		t.failures[k.top()].count++
		t.certain = t.certain || slices.ContainsFunc(t.output[k], certain)
		t.print(k)
	case "skip":
		t.skipped = append(t.skipped, skippedTest{k, skipReason(t.output[k])})
	}
	delete(t.output, k)
}

// endPackage ends a package. A package may fail without a failed test: it did not build, or its process died. This counts as
// one failure.
func (t *tally) endPackage(e event) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(t.w, "ok    %s  %.1fs\n", e.Package, e.Elapsed)
	case "fail":
		for k := range t.output {
			if k.pkg == e.Package {
				t.print(k)
			}
		}
		fmt.Fprintf(t.w, "FAIL  %s  %.1fs\n", e.Package, e.Elapsed)
		named := false
		for k := range t.failures {
			named = named || k.pkg == e.Package
		}
		if !named {
			t.failed++
			t.certain = true
		}
	}
	for k := range t.output {
		if k.pkg == e.Package {
			delete(t.output, k)
		}
	}
}

// skip counts a test that was not started.
func (t *tally) skip(pkg, name, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.skipped = append(t.skipped, skippedTest{test{pkg, name}, reason})
}

// print writes the output of a test without the lines for start, pause and continuation of the test.
func (t *tally) print(k test) {
	for _, line := range t.output[k] {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(t.w, line)
		}
	}
}

// summary writes the end of the report. The last line has only the counts.
func (t *tally) summary(strict bool) {
	slices.SortFunc(t.skipped, func(a, b skippedTest) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name))
	})
	for _, s := range t.skipped {
		fmt.Fprintf(t.w, "skip  %s %s: %s\n", s.pkg, s.name, s.reason)
	}
	if strict && len(t.skipped) > 0 {
		fmt.Fprintln(t.w, "CI=true: a skipped test is a failure")
	}
	for _, k := range t.again {
		fmt.Fprintf(t.w, "again %s %s: failed beside other tests and passed alone\n", k.pkg, k.name)
	}
	fmt.Fprintf(t.w, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, len(t.skipped))
}

// skipReason returns the text of t.Skip, which go test prints as "    file_test.go:12: text".
func skipReason(output []string) string {
	for _, line := range output {
		if _, text, ok := strings.Cut(line, ".go:"); ok {
			if _, text, ok := strings.Cut(text, ": "); ok {
				return strings.TrimSpace(text)
			}
		}
	}
	return "no reason given"
}
