package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
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

func TestVersions(t *testing.T) {
	result := func(us, qps float64) *harness.Result {
		at := func(v float64) harness.Stat { return harness.Stat{Median: v, Min: v, Max: v} }
		return &harness.Result{
			Unit: "us", Cases: []string{"1 KB", "10 KB"}, Figures: []string{"QPS", "Memory"},
			Rows: []harness.Row{
				{Name: "ferry", Kind: harness.Ferry, Cases: map[string]map[string]harness.Stat{"1 KB": {"us": at(us), "QPS": at(qps)}}},
				{Name: "peer", Kind: harness.Peer, Cases: map[string]map[string]harness.Stat{"1 KB": {"us": at(1)}}},
			},
		}
	}
	want := `ferry by version:

| | version | us | QPS | Memory |
|---|---|--:|--:|--:|
| 1 KB | v1 | 20.0 | 50.0 | - |
| 1 KB | now | 10.0 | 100 | - |
`
	if got := versions(result(10, 100), result(20, 50), "v1"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := versions(&harness.Result{}, &harness.Result{}, "v1"); got != "" {
		t.Errorf("without figures: got %q", got)
	}
}

// TestRun compares two results with a tag that contains only one of them.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := run(io.Discard, "v1"); err == nil || err.Error() != "no results in bench/results: measure first, with make bench" {
		t.Errorf("nothing measured: got %v", err)
	}
	write := func(question, value string) {
		t.Helper()
		text := `{"question":"` + question + `","unit":"ns/op","better":"lower","cases":["c"],"rows":[{"name":"ferry","value":` + value + `}]}`
		if err := os.MkdirAll(results, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(results, question+".json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("old", "20")
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "results"},
		{"tag", "v1"},
	} {
		if _, err := git(args...); err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
	}
	write("old", "10")
	write("new", "5")
	var out bytes.Buffer
	if err := run(&out, "v1"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# new: not measured at v1\n", "| ferry | 20.0 | 10.0 | 0.50 |\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwithout %q", out.String(), want)
		}
	}
	if err := run(io.Discard, "v2"); err == nil || !strings.Contains(err.Error(), "v2 is no commit or tag") {
		t.Errorf("unknown tag: got %v", err)
	}
}
