package top

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// column is a column of a table. Columns with the highest rank are left out first on a narrow terminal; those of rank 0 stay.
type column struct {
	title string
	left  bool
	rank  int
}

// cell is what a row has in a column. Rows are sorted by order, and by text where order is the same.
type cell struct {
	text  string
	order float64
	style style
}

// row is a row of a table, with the rows that belong to it.
type row struct {
	cells    []cell
	children []row
}

// text returns a cell that is sorted by its text. Control characters, which would reach the terminal, become ?.
func text(s string, st style) cell {
	return cell{text: strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s), style: st}
}

// number returns a cell with a figure in a unit.
func number(f figure, unit func(float64) string, st style) cell {
	if !f.known {
		return cell{text: "-", order: -1, style: dim}
	}
	if f.v == 0 {
		st = dim
	}
	return cell{text: unit(f.v), order: f.v, style: st}
}

// match reports whether a row, or one that belongs to it, has the text in a cell. Case does not matter.
func (r *row) match(filter string) bool {
	return slices.ContainsFunc(r.cells, func(c cell) bool { return strings.Contains(strings.ToLower(c.text), filter) }) ||
		slices.ContainsFunc(r.children, func(child row) bool { return child.match(filter) })
}

// sortRows sorts rows by a column: figures from the largest on, text from A on; reverse is the other way around. The rows that
// belong to a row are sorted, too.
func sortRows(rows []row, by int, reverse bool) {
	slices.SortStableFunc(rows, func(a, b row) int {
		x, y := a.cells[by], b.cells[by]
		order := cmp.Or(cmp.Compare(y.order, x.order), strings.Compare(x.text, y.text))
		if reverse {
			return -order
		}
		return order
	})
	for _, r := range rows {
		sortRows(r.children, by, reverse)
	}
}

// flatten returns rows with those that belong to them below them, indented.
func flatten(rows []row) []row {
	var all []row
	for _, r := range rows {
		all = append(all, r)
		for i, child := range r.children {
			branch := "├ "
			if i == len(r.children)-1 {
				branch = "└ "
			}
			child.cells = slices.Clone(child.cells)
			child.cells[0].text = branch + child.cells[0].text
			all = append(all, child)
		}
	}
	return all
}

const columnGap = 2

// The least widths of a column of text that is cut so that others have room. narrow is for terminals where that does not help.
const (
	readable = 20
	narrow   = 6
)

// layout returns the widths of the columns for rows, in a terminal of this width; 0 for a column that is left out. Columns are
// left out until the others fit with their text cut to readable. What room is left then goes to the text, from the left.
func layout(columns []column, rows []row, width int) []int {
	wanted := make([]int, len(columns))
	for i, c := range columns {
		wanted[i] = ansi.StringWidth(c.title) + 1 // for the mark of the sorted column
		for _, r := range rows {
			wanted[i] = max(wanted[i], ansi.StringWidth(r.cells[i].text))
		}
	}
	widths := cut(columns, wanted, readable)
	for excess(widths, width) > 0 {
		last := 0
		for i, c := range columns {
			if widths[i] > 0 && c.rank > 0 && (last == 0 || c.rank >= columns[last].rank) {
				last = i
			}
		}
		if last == 0 {
			widths = cut(columns, widths, narrow)
			break
		}
		widths[last] = 0
	}
	for i := range widths {
		if room := -excess(widths, width); widths[i] > 0 && room > 0 {
			widths[i] = min(wanted[i], widths[i]+room)
		}
	}
	return widths
}

// cut returns widths with those of text no larger than most.
func cut(columns []column, widths []int, most int) []int {
	widths = slices.Clone(widths)
	for i, c := range columns {
		if c.left {
			widths[i] = min(widths[i], most)
		}
	}
	return widths
}

// excess returns how many cells the columns need beyond width. It is negative if they need less.
func excess(widths []int, width int) (n int) {
	for _, w := range widths {
		if w > 0 {
			n += w + columnGap
		}
	}
	return n - columnGap - width
}

// line returns one line of a table: cells in their columns.
func line(columns []column, widths []int, cells []cell, paint func(style, string) string) string {
	var b strings.Builder
	for i, w := range widths {
		if w == 0 {
			continue
		}
		if i > 0 {
			b.WriteString(strings.Repeat(" ", columnGap))
		}
		text := ansi.Truncate(cells[i].text, w, "…")
		pad := strings.Repeat(" ", w-ansi.StringWidth(text))
		if columns[i].left {
			b.WriteString(paint(cells[i].style, text) + pad)
		} else {
			b.WriteString(pad + paint(cells[i].style, text))
		}
	}
	return b.String()
}
