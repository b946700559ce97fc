package main

import (
	"strings"
	"testing"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
)

func TestQuestion(t *testing.T) { harnesstest.Run(t, question()) }

func TestParse(t *testing.T) {
	const line = "BenchmarkHop/100/where/full-2 \t 7061 \t 171.3 ns/op \t 12 B/op \t 3 allocs/op\n"
	for _, row := range []struct{ name, out, fails string }{
		{"among other lines", "goos: linux\n" + line + "PASS\n", ""},
		{"nothing ran", "testing: warning: no tests to run\nPASS\n", "no result of this name"},
		{"another one ran", strings.ReplaceAll(line, "where", "plain"), "no result of this name"},
		{"without allocations", "BenchmarkHop/100/where/full-2 7061 171.3 ns/op\n", "no B/op"},
		{"not a number", strings.ReplaceAll(line, "12", "twelve"), `not a figure: "twelve"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, err := parse([]byte(row.out), "100/where/full")
			if row.fails != "" {
				if err == nil || err.Error() != row.fails {
					t.Fatalf("got error %v, want %q", err, row.fails)
				}
				return
			}
			if err != nil || f[harness.NsPerOp] != 171.3 || f[harness.BytesPerOp] != 12 || f[harness.AllocsPerOp] != 3 {
				t.Errorf("got %v, %v, want 171.3, 12 and 3", f, err)
			}
		})
	}
}
