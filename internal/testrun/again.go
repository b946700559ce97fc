package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mostAgain is the number of failed tests that are run again. When more tests fail, the machine was not the reason.
const mostAgain = 10

// certain reports whether a line that a failed test printed shows a fault that does not depend on how fast the machine is.
func certain(line string) bool {
	return strings.Contains(line, "race detected during execution of test") || strings.HasPrefix(line, "WARNING: DATA RACE") ||
		strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

// runAgain runs each failed test once more, one at a time, after all others. It changes nothing if a failure is certain, or if more than
// mostAgain tests failed.
func (t *tally) runAgain() error {
	if t.certain || len(t.failures) > mostAgain {
		return nil
	}
	var failed []test
	for k := range t.failures {
		failed = append(failed, k)
	}
	slices.SortFunc(failed, func(a, b test) int { return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name)) })
	for _, k := range failed {
		f := t.failures[k]
		fmt.Fprintf(t.w, "again %s %s\n", k.pkg, k.name)
		b := f.batch
		b.flags = append(slices.Clip(b.flags), "-count=1", "-run", "^"+regexp.QuoteMeta(k.name)+"$")
		b.packages = []string{f.path}
		second := newTally(t.w)
		if err := b.run(second); err != nil {
			return err
		}
		if second.failed == 0 && second.passed > 0 {
			t.failed -= f.count
			t.passed += f.count
			t.again = append(t.again, k)
		}
	}
	return nil
}
