package config

import "strings"

// plainLines cuts a text into lines.
type plainLines struct {
	text string
	at   int // of the line after the current one

	have   bool   // there is a current line
	start  int    // of the current line
	indent int    // its spaces at the start
	line   string // it without these, without a comment, and without spaces at its end
}

// next goes to the next line that has more than a comment.
func (l *plainLines) next() {
	for l.at < len(l.text) {
		l.start = l.at
		line := l.text[l.at:]
		if end := strings.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		l.at += len(line) + 1
		l.indent = 0
		for l.indent < len(line) && line[l.indent] == ' ' {
			l.indent++
		}
		if line = withoutComment(line[l.indent:]); line != "" {
			l.line, l.have = line, true
			return
		}
	}
	l.have = false
}

// withoutComment returns a line without a comment and the spaces before it.
func withoutComment(line string) string {
	if at := strings.IndexByte(line, '#'); at >= 0 {
		for i := range len(line) {
			if line[i] < ' ' || line[i] > '~' {
				refuse()
			}
		}
		if at > 0 && (line[at-1] != ' ' || strings.ContainsAny(line[:at], `"'`)) { // it may belong to a text
			refuse()
		}
		line = line[:at]
	}
	for len(line) > 0 && line[len(line)-1] == ' ' {
		line = line[:len(line)-1]
	}
	return line
}

// entry reports whether the current line begins an entry of a list.
func (l *plainLines) entry() bool {
	return l.line[0] == '-' && len(l.line) > 1 && l.line[1] == ' '
}

// entryText returns the lines of the entry that begins on the current line, in a list that is indented by indent: all lines up to the next
// one that is not indented more and has more than a comment.
func (l *plainLines) entryText(indent int) string { return l.linesWithin(indent, false) }

// listText returns the lines of all entries of the list that begins on the current line.
func (l *plainLines) listText(indent int) string { return l.linesWithin(indent, true) }

func (l *plainLines) linesWithin(indent int, entries bool) string {
	for at := l.at; at < len(l.text); {
		ends, i := l.ends(at, indent, entries)
		if ends {
			return l.text[l.start:at]
		}
		end := strings.IndexByte(l.text[i:], '\n')
		if end < 0 {
			break
		}
		at = i + end + 1
	}
	return l.text[l.start:]
}

// ends reports whether the line that starts at a place in the text is behind an entry of a list that is indented by indent, or behind the
// list with all its entries. It returns the place behind the spaces at the start of the line, too.
func (l *plainLines) ends(at, indent int, entries bool) (is bool, behind int) {
	i := at
	for i < len(l.text) && l.text[i] == ' ' {
		i++
	}
	return i-at <= indent && i < len(l.text) && l.text[i] != '\n' && l.text[i] != '#' &&
		(!entries || i-at < indent || !strings.HasPrefix(l.text[i:], "- ")), i
}

// isList reports whether the list that begins on the current line has these lines and no others.
func (l *plainLines) isList(lines string, indent int) bool {
	at := l.start + len(lines)
	if !strings.HasPrefix(l.text[l.start:], lines) {
		return false
	}
	if at == len(l.text) {
		return true
	}
	ends, _ := l.ends(at, indent, true)
	return ends && l.text[at-1] == '\n'
}
