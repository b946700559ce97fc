package harness

import (
	"fmt"
	"math"
	"strings"
)

// Table shows one figure of a Result. Each line is a row, and each column is a case.
type Table struct {
	Figure string
	Cases  []string
	Lines  []TableLine
}

// TableLine is the line of one row. A cell without a value says why, or is empty.
type TableLine struct {
	Row   Row
	Cells []string
}

// Tables returns a table for the headline and for each other figure. It omits rows and cases without any value. A cell of the
// headline also shows its ratio to the value of the first ferry row.
func (r *Result) Tables() []Table {
	var all []Table
	for _, figure := range append([]string{r.Unit}, r.Figures...) {
		if t := r.table(figure); len(t.Lines) > 0 {
			all = append(all, t)
		}
	}
	return all
}

func (r *Result) table(figure string) Table {
	t := Table{Figure: figure}
	for _, name := range r.Cases {
		for _, row := range r.Rows {
			if _, ok := row.Cases[name][figure]; ok {
				t.Cases = append(t.Cases, name)
				break
			}
		}
	}
	for _, row := range r.Rows {
		line, found := TableLine{Row: row}, false
		for _, name := range t.Cases {
			cell := row.Absent[name]
			if s, ok := row.Cases[name][figure]; ok {
				cell, found = Number(s.Median), true
				if base := r.Stat(r.firstFerry(), name, figure).Median; figure == r.Unit && row.Name != r.firstFerry() && base > 0 {
					cell += " (" + s.times(base) + ")"
				}
			}
			line.Cells = append(line.Cells, cell)
		}
		if found {
			t.Lines = append(t.Lines, line)
		}
	}
	return t
}

// times formats the ratio to the first ferry row, whose median is base. Results of an earlier harness have no Ratio.
func (s Stat) times(base float64) string {
	switch {
	case s.Ratio == 0:
		return Number(s.Median/base) + "×"
	case s.Error == 0:
		return Number(s.Ratio) + "×"
	}
	return fmt.Sprintf("%s ±%s×", Number(s.Ratio), Number(s.Error))
}

func (r *Result) firstFerry() string {
	for _, row := range r.Rows {
		if row.Kind == Ferry {
			return row.Name
		}
	}
	return ""
}

// Markdown returns the result as a report in Markdown.
func (r *Result) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n%s\n", r.Question, r.Title, r.About)
	for _, t := range r.Tables() {
		fmt.Fprintf(&b, "\n**%s**", t.Figure)
		if t.Figure == r.Unit {
			fmt.Fprintf(&b, " (%s is better; in brackets: times %s)", r.Better, r.firstFerry())
		}
		b.WriteString("\n\n| row | kind | version |")
		for _, name := range t.Cases {
			fmt.Fprintf(&b, " %s |", name)
		}
		b.WriteString("\n|---|---|---|" + strings.Repeat("--:|", len(t.Cases)) + "\n")
		for _, line := range t.Lines {
			fmt.Fprintf(&b, "| %s | %s | %s |", line.Row.Name, line.Row.Kind, line.Row.Version)
			for _, cell := range line.Cells {
				fmt.Fprintf(&b, " %s |", cell)
			}
			b.WriteByte('\n')
		}
	}
	if len(r.Goals) > 0 {
		b.WriteString("\n**Goals**\n\n| goal | asked | measured | met |\n|---|--:|--:|---|\n")
		for _, g := range r.Goals {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", g.Text, g.Asked, g.MeasuredText(), g.Verdict())
		}
	}
	list := func(head string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n\n- %s\n", head, strings.Join(lines, "\n- "))
		}
	}
	list("**Checked before timing**", r.Checks)
	list("**Notes**", r.Notes)
	fmt.Fprintf(&b, "\n`%s` on %s. %s\n", r.Command, r.Machine, r.Rounds)
	return b.String()
}

// MeasuredText formats the measured value and its error.
func (a GoalResult) MeasuredText() string {
	switch {
	case a.Measured == nil:
		return "not measured"
	case a.Error == 0:
		return Number(*a.Measured)
	}
	return fmt.Sprintf("%s ±%s", Number(*a.Measured), Number(a.Error))
}

// Verdict says whether the goal is met. A goal that an earlier harness measured in disturbed rounds is undecided.
func (a GoalResult) Verdict() Verdict {
	switch {
	case a.Measured == nil:
		return Open
	case a.Undecided, a.Void:
		return Undecided
	case a.Met:
		return Yes
	}
	return No
}

// String is one sentence of the report.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, kernel %s, %s, ferry %s, load before the run %s", m.CPU, m.Cores, m.OS, m.Kernel, m.Go, m.Ferry, m.Load)
}

// String is one or two sentences of the report.
func (r Rounds) String() string {
	s := fmt.Sprintf("Medians of %d rounds, measured in turns.", r.Counted)
	switch {
	case r.Void > 0:
		s += fmt.Sprintf(" The machine was disturbed in %d of them.", r.Void)
	case r.Measurements > 0:
		s += fmt.Sprintf(" Other programs took %.2f cores on average, of which the hypervisor took %.2f; %d of %d measurements stayed disturbed.",
			r.Foreign, r.Steal, r.Disturbed, r.Measurements)
	}
	return s
}

// progress is what Run logs after a round.
func (r *Result) progress() string {
	count := make(map[Verdict]int)
	for _, g := range r.Goals {
		count[g.Verdict()]++
	}
	return fmt.Sprintf("others took %.2f cores, %d of %d measurements are disturbed; goals met %d, missed %d, undecided %d",
		r.Rounds.Foreign, r.Rounds.Disturbed, r.Rounds.Measurements, count[Yes], count[No], count[Undecided])
}

// Number formats v with three significant digits. It prints all digits of the integer part.
func Number(v float64) string {
	abs := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case abs >= 100:
		return fmt.Sprintf("%.0f", v)
	case abs >= 10:
		return fmt.Sprintf("%.1f", v)
	case abs >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
