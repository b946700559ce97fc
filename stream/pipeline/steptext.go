package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kinds returns the names of the fields of s that are steps.
func (s *Step) kinds() (names []string) {
	for _, each := range s.each() {
		if each.set {
			names = append(names, each.name)
		}
	}
	return append(names, s.Aggregation.kinds()...)
}

type namedStep struct {
	name string
	set  bool
	text string
}

func (s *Step) each() []namedStep {
	var selected []string
	for _, name := range slices.Sorted(maps.Keys(s.Select)) {
		selected = append(selected, name+": "+s.Select[name])
	}
	var groups string
	if s.GroupBy != nil {
		groups = strings.Join(*s.GroupBy, ", ")
	}
	return []namedStep{
		{"where", s.Where != "", s.Where},
		{"select", s.Select != nil, strings.Join(selected, ", ")},
		{"flat_map", s.FlatMap != "", s.FlatMap},
		{"group_by", s.GroupBy != nil, groups},
		{"window", s.Window != nil, ""},
		{"aggregate", s.Aggregates != nil, aggregatesText(s.Aggregates)},
		{"scan", s.Scan != nil, aggregatesText(s.Scan)},
		{"distinct", s.Distinct != nil, strings.Join(s.Distinct, ", ")},
		{"changed", s.Changed != nil, strings.Join(s.Changed, ", ")},
		{"debounce", s.Debounce != 0, s.Debounce.String()},
		{"throttle", s.Throttle != 0, s.Throttle.String()},
		{"sample", s.Sample != 0, s.Sample.String()},
		{"publish", s.Publish != "", s.Publish},
	}
}

// stepNames returns the names of all steps.
func stepNames() (names []string) {
	for _, each := range new(Step).each() {
		names = append(names, each.name)
	}
	return append(names, aggregateNames[:]...)
}

// String returns the step on one line, such as "where temperature > 30".
func (s *Step) String() string {
	if s.Window != nil {
		return s.Window.String()
	}
	for _, each := range s.each() {
		if each.set {
			return strings.TrimSpace(each.name + " " + each.text)
		}
	}
	return s.Aggregation.String()
}

// kinds returns the names of the aggregates that are set.
func (a *Aggregation) kinds() (names []string) {
	for i, set := range []bool{a.Count, a.Sum != "", a.Mean != "", a.Min != "", a.Max != "", a.First != "", a.Last != "", a.DistinctCount != ""} {
		if set {
			names = append(names, aggregateNames[i])
		}
	}
	return names
}

// path returns the field that the aggregate reads.
func (a *Aggregation) path() string {
	return a.Sum + a.Mean + a.Min + a.Max + a.First + a.Last + a.DistinctCount
}

// String returns the aggregate on one line, such as "mean temperature as celsius".
func (a *Aggregation) String() string {
	text := strings.TrimSpace(strings.Join(a.kinds(), " ") + " " + a.path())
	if a.As != "" {
		text += " as " + a.As
	}
	return text
}

func aggregatesText(list []Aggregation) string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].String()
	}
	return strings.Join(texts, ", ")
}

// String returns the window on one line, such as "window 10s every 1s".
func (w *Window) String() string {
	text := "window"
	if w.Count > 0 {
		text += fmt.Sprintf(" of %d", w.Count)
	}
	if w.Time > 0 {
		text += " " + w.Time.String()
	}
	if w.Every > 0 {
		text += " every " + w.Every.String()
	}
	if w.Session > 0 {
		text += " session " + w.Session.String()
	}
	if w.EventTime != "" {
		text += " by " + w.EventTime
	}
	if w.Ahead > 0 {
		text += ", ahead " + w.Ahead.String()
	}
	if w.Lateness > 0 {
		text += ", late " + w.Lateness.String()
	}
	return text
}
