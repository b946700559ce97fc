package cmdline

import (
	"fmt"
	"go/doc/comment"
	"strings"
)

// help is a text that is being written.
type help struct {
	strings.Builder
	width int // columns
}

// HelpText returns the help of the verb, in lines of at most width columns.
func (v *Verb) HelpText(width int) string {
	b := &help{width: width}
	program := v
	for program.Parent != nil {
		program = program.Parent
	}
	fmt.Fprintf(b, "Usage: %s %s\n", program.Name, v.Summary())
	for _, text := range []string{v.Help, v.Detail} {
		if text != "" {
			b.WriteString("\n" + wrapped(text, width))
		}
	}
	if v.Args != nil {
		b.WriteString("\nArguments:\n")
		var rows [][2]string
		for _, x := range v.Args {
			rows = append(rows, [2]string{x.Summary(), x.Help})
		}
		b.columns(rows)
	}
	b.verbs(v)
	b.WriteString("\nFlags:\n")
	b.columns(flagRows(v.AllFlags()))
	if v.Parent == nil {
		fmt.Fprintf(b, "\nRun \"%s <command> --help\" for more information on a command.\n", v.Name)
	}
	return b.String()
}

// verbs writes the verbs of v by their groups.
func (b *help) verbs(v *Verb) {
	var groups []string
	rows := map[string][][2]string{}
	for _, verb := range v.Visible() {
		group := "Commands:"
		for at := verb; at != nil; at = at.Parent {
			if at.Group != "" {
				group = at.Group
				break
			}
		}
		if rows[group] == nil {
			groups = append(groups, group)
		}
		rows[group] = append(rows[group], [2]string{verb.Path(), verb.Help})
	}
	for _, group := range groups {
		b.WriteString("\n" + group + "\n")
		b.columns(rows[group])
	}
}

// flagRows returns the flags and their texts, with an empty row between two levels.
func flagRows(levels [][]*Value) (rows [][2]string) {
	for i, level := range levels {
		if i > 0 {
			rows = append(rows, [2]string{})
		}
		for _, f := range level {
			short := "    "
			if f.Short != "" {
				short = "-" + f.Short + ", "
			}
			rows = append(rows, [2]string{short + f.Summary(), f.Help})
		}
	}
	return rows
}

// columns writes rows of a name and a text. The text of a long name begins on the next line.
func (b *help) columns(rows [][2]string) {
	const indent, gap = 2, 4
	most, left := max(30, (b.width-indent)*3/8), 0
	for _, row := range rows {
		if len(row[0]) < most {
			left = max(left, len(row[0]))
		}
	}
	for _, row := range rows {
		text := strings.Split(strings.TrimRight(wrapped(row[1], b.width-indent-left-gap), "\n"), "\n")
		line := fmt.Sprintf("%*s%-*s", indent, "", left, row[0])
		if len(row[0]) < most {
			line += strings.Repeat(" ", gap) + text[0]
			text = text[1:]
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		for _, t := range text {
			fmt.Fprintf(b, "%*s%s\n", indent+left+gap, "", t)
		}
	}
}

// wrapped returns text in lines of at most width columns. It has the form of Go's comments: indented lines stay as they are.
func wrapped(text string, width int) string {
	p := comment.Printer{TextCodePrefix: "    ", TextWidth: width}
	return string(p.Text((&comment.Parser{}).Parse(strings.TrimSpace(text))))
}
