package top

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// chrome is how many lines are not rows: title, tabs, summary, head of the table, keys.
const chrome = 5

// View draws the whole terminal.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "ferry top " + m.address
	return v
}

// lines returns height lines of at most width cells.
func (m *model) lines() []string {
	lines := []string{m.title(), m.tabLine()}
	if t := m.tab(); t != nil {
		lines = append(lines, paint(dim, " "+t.summary(&m.window)))
		lines = append(lines, m.table(t)...)
	} else {
		lines = append(lines, "", " This node has no streams, functions or proxy.")
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:max(0, min(len(lines), m.height-1))], m.keys())
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], m.width, "…")
	}
	return lines
}

// title is the first line: the address, and whether the node responds.
func (m *model) title() string {
	left := " " + paint(bold, "ferry top") + "  " + text(m.address, plain).text
	state := paint(good, "live") + " " + m.window.now().Time.Format(time.TimeOnly)
	if m.err != nil {
		state = paint(bad, fmt.Sprintf("no response since %s: %s", m.lost.Format(time.TimeOnly), brief(m.err)))
	}
	gap := m.width - 1 - ansi.StringWidth(left) - ansi.StringWidth(state)
	return left + strings.Repeat(" ", max(2, gap)) + state
}

// brief returns the cause of a failed request in one line: the address is shown already, and advice would not fit.
func brief(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return text(line, plain).text
}

func (m *model) tabLine() string {
	var b strings.Builder
	for i, t := range m.tabs {
		name := fmt.Sprintf(" %d %s ", i+1, t.name)
		if t.name == m.current {
			name = paint(current, name)
		}
		b.WriteString(" " + name)
	}
	return b.String()
}

// table returns the head and the rows that fit.
func (m *model) table(t *tab) []string {
	rows, p := m.rows(t), m.place(t)
	widths := layout(t.columns, rows, m.width-1)
	head := make([]cell, len(t.columns))
	for i, c := range t.columns {
		head[i] = cell{text: c.title, style: accent}
		if i == p.sortBy {
			head[i].text += map[bool]string{false: "▾", true: "▴"}[p.reverse]
			head[i].style = bold
		}
	}
	lines := []string{" " + line(t.columns, widths, head, paint)}
	if len(rows) == 0 {
		empty := t.empty
		if m.filter != "" {
			empty = "Nothing matches " + m.filter + "."
		}
		return append(lines, " "+paint(dim, empty))
	}
	show := paint
	if m.err != nil { // what is shown is old
		show = func(_ style, text string) string { return paint(dim, text) }
	}
	room := max(0, m.height-chrome)
	p.top = max(0, min(p.top, len(rows)-room))
	for _, r := range rows[p.top:min(len(rows), p.top+room)] {
		lines = append(lines, " "+line(t.columns, widths, r.cells, show))
	}
	return lines
}

// keys is the last line: the filter while it is typed, else the keys.
func (m *model) keys() string {
	if m.editing {
		return " /" + text(m.filter, plain).text + paint(current, " ") + paint(dim, "  enter keeps the filter, esc removes it")
	}
	if m.filter != "" {
		return paint(warn, " filter: "+text(m.filter, plain).text) + paint(dim, "   esc removes it   s sort   S reverse   q quit")
	}
	position := ""
	if t := m.tab(); t != nil {
		if n, room := len(m.rows(t)), max(0, m.height-chrome); n > room {
			first := m.place(t).top
			position = fmt.Sprintf("   %d-%d of %d", first+1, min(n, first+room), n)
		}
	}
	return paint(dim, " tab/←→ table   ↑↓ scroll   s sort   S reverse   / filter   q quit"+position)
}
