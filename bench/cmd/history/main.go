// History prints the results of this tree beside those that were checked in at a git tag.
//
// The two results were measured on different days, so their absolute values are hard to compare. Compare the ratios of
// ferry's rows to the limits and the peers instead. The rows of limits and peers show how much the machine itself changed.
//
//	go run ./cmd/history v0.1.0
package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path"
	"strings"

	"example.com/ferry/bench/internal/harness"
)

const results = "results"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: history TAG")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, tag string) error {
	now, err := harness.ReadResults(results)
	if err != nil {
		return err
	}
	if len(now) == 0 {
		return errors.New("no results in bench/results: measure first, with make bench")
	}
	if _, err := git("rev-parse", "--verify", "--quiet", tag+"^{commit}"); err != nil {
		return fmt.Errorf("%s is no commit or tag here: see git tag", tag)
	}
	for _, r := range now {
		text, err := git("show", tag+":./"+path.Join(results, r.File+".json"))
		if err != nil {
			fmt.Fprintf(w, "# %s: not measured at %s\n\n", r.Question, tag)
			continue
		}
		base, err := harness.ParseResult(text)
		if err != nil {
			return fmt.Errorf("%s at %s: %w", r.Question, tag, err)
		}
		fmt.Fprintln(w, table(r, base, tag))
		if t := versions(r, base, tag); t != "" {
			fmt.Fprintln(w, t)
		}
	}
	return nil
}

// table lists, for each headline and ratio that both results have, both values and their quotient.
func table(now, base *harness.Result, tag string) string {
	var b strings.Builder
	line := func(name string, was, is float64) {
		quotient := "-"
		if was != 0 {
			quotient = fmt.Sprintf("%.2f", is/was)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, harness.Number(was), harness.Number(is), quotient)
	}
	fmt.Fprintf(&b, "# %s, %s, %s: %s is better\n\n| | %s | now | now/%s |\n|---|--:|--:|--:|\n", now.Question, now.Cases[0], now.Unit, now.Better, tag, tag)
	was := make(map[string]harness.Row)
	for _, row := range base.Rows {
		was[row.Name] = row
	}
	for _, row := range now.Rows {
		if old, ok := was[row.Name]; ok {
			line(row.Name, old.Value, row.Value)
		}
	}
	for _, row := range now.Rows {
		for _, other := range now.Rows {
			name := row.Name + "/" + other.Name
			is, inNow := now.Ratios[name]
			old, inBase := base.Ratios[name]
			if inNow && inBase {
				line(name, old, is)
			}
		}
	}
	return b.String()
}

// versions returns one table for each ferry row, with every figure at both versions. The result is empty if the rows have
// only headlines.
func versions(now, base *harness.Result, tag string) string {
	if len(now.Figures) == 0 {
		return ""
	}
	var b strings.Builder
	columns := append([]string{now.Unit}, now.Figures...)
	for _, row := range now.Rows {
		if row.Kind != harness.Ferry {
			continue
		}
		var lines strings.Builder
		for _, name := range now.Cases {
			if _, ok := row.Cases[name]; !ok || math.IsNaN(base.Stat(row.Name, name, now.Unit).Median) {
				continue
			}
			for _, v := range []struct {
				name   string
				result *harness.Result
			}{{tag, base}, {"now", now}} {
				fmt.Fprintf(&lines, "| %s | %s |", name, v.name)
				for _, figure := range columns {
					cell := "-"
					if x := v.result.Stat(row.Name, name, figure).Median; !math.IsNaN(x) {
						cell = harness.Number(x)
					}
					fmt.Fprintf(&lines, " %s |", cell)
				}
				lines.WriteString("\n")
			}
		}
		if lines.Len() > 0 {
			fmt.Fprintf(&b, "%s by version:\n\n| | version | %s |\n|---|---|%s\n%s", row.Name, strings.Join(columns, " | "), strings.Repeat("--:|", len(columns)), lines.String())
		}
	}
	return b.String()
}

func git(args ...string) ([]byte, error) { return exec.Command("git", args...).Output() }
