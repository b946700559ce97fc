// Package harnesstest runs a benchmark for a very short time in a test, so that make test includes the benchmark's checks.
//
//	func TestQuestion(t *testing.T) { harnesstest.Run(t, question()) }
package harnesstest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/ferry/bench/internal/harness"
)

// Run runs q for one round. The test fails if a check fails, if a row has no headline, or if the result files cannot be read
// back. Run does not check the values of the figures.
func Run(t *testing.T, q harness.Question) {
	t.Helper()
	if len(q.Checks) == 0 {
		t.Errorf("%s: nothing is checked before it is timed", q.Name)
	}
	dir := t.TempDir()
	r, err := harness.Run(t.Context(), q, harness.Config{Rounds: 1, Most: 1, Once: true, Budget: 100 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Checks) != len(q.Checks) {
		t.Errorf("%s: %d checks in the result, want %d", q.Name, len(r.Checks), len(q.Checks))
	}
	if err := r.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, q.Name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := harness.ParseResult(text)
	if err != nil {
		t.Fatal(err)
	}
	if again.Markdown() != r.Markdown() {
		t.Errorf("%s: what is read back says something else:\n%s\nwant:\n%s", q.Name, again.Markdown(), r.Markdown())
	}
}
