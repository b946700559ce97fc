package main

import (
	"testing"

	"example.com/ferry/bench/internal/harness"
)

func TestTable(t *testing.T) {
	result := func(ferry, peer float64) *harness.Result {
		return &harness.Result{
			Question: "q", Unit: "ns/op", Better: harness.Lower, Cases: []string{"c"},
			Rows:   []harness.Row{{Name: "ferry", Value: ferry}, {Name: "peer", Value: peer}},
			Ratios: map[string]float64{"ferry/peer": ferry / peer},
		}
	}
	base := result(20, 100)
	base.Rows = append(base.Rows, harness.Row{Name: "gone", Value: 1})
	want := `# q, c, ns/op: lower is better

| | v1 | now | now/v1 |
|---|--:|--:|--:|
| ferry | 20.0 | 11.0 | 0.55 |
| peer | 100 | 110 | 1.10 |
| ferry/peer | 0.2 | 0.1 | 0.50 |
`
	if got := table(result(11, 110), base, "v1"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRunNamesWhatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := run("v1"); err == nil || err.Error() != "no results in bench/results: measure first, with make bench" {
		t.Errorf("got %v", err)
	}
}
