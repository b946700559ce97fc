// Report writes results/report.html, one self-contained page with all results.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"

	"example.com/ferry/bench/internal/harness"
)

//go:embed page.html
var page string

func main() {
	if err := run("results"); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	all, err := harness.ReadResults(dir)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("no results in " + dir + ": measure first, with make bench")
	}
	name := filepath.Join(dir, "report.html")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f, all), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Println("written: bench/" + name)
	return nil
}

// write renders the page. It does not escape the plots, because they are SVG that this module generated.
func write(w io.Writer, all []*harness.Result) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"plot":  func(r *harness.Result) template.HTML { return template.HTML(r.SVG()) },
		"chart": func(r *harness.Result, c harness.Chart) template.HTML { return template.HTML(r.ChartSVG(&c)) },
	}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, report{all, summarize(all)})
}

// report is the data of the page.
type report struct {
	Results []*harness.Result
	Goals   []line
}

// Count returns how many goals have a verdict: yes, no or undecided. A goal measured on two CPU models counts twice.
func (r report) Count(verdict harness.Verdict) int {
	n := 0
	for _, l := range r.Goals {
		for _, m := range l.Measured {
			if m.Goal.Verdict() == verdict {
				n++
			}
		}
	}
	return n
}

// line is a goal in the table that opens the page, with one entry for each CPU model that it was measured on.
type line struct {
	Question, Text, Asked string
	Measured              []entry
}

type entry struct {
	File string // anchor of the result
	CPU  string
	Goal harness.GoalResult
}

// summarize lists the goals of all results. Results of one question from several CPU models share a line.
func summarize(all []*harness.Result) (lines []line) {
	at := make(map[string]int) // index in lines
	for _, r := range all {
		for _, g := range r.Goals {
			key := r.Question + "\n" + g.Text + "\n" + g.Asked
			i, ok := at[key]
			if !ok {
				i = len(lines)
				at[key] = i
				lines = append(lines, line{Question: r.Question, Text: g.Text, Asked: g.Asked})
			}
			lines[i].Measured = append(lines[i].Measured, entry{r.File, r.Machine.CPU, g})
		}
	}
	return lines
}
