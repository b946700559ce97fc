package config

import (
	"reflect"
	"runtime"
	"strings"
)

// plainMemory has the routes that a plainReader has decoded, by their text. Where a file has thousands of them, a change leaves most as they are: the
// next configuration shares these with the one before, and neither may be changed. The same text has the same meaning everywhere: plain YAML
// has no anchors, and the text includes its indentation.
type plainMemory struct {
	known   map[string]plainEntry // key is a part of the text of plainEntry.list
	reading int                   // number of the text that is read
	used    int                   // entries of the lists in it
}

// plainList is a list of routes.
type plainList struct {
	text    string // a copy: it does not hold the text of a file
	entries reflect.Value
	reading int // the last text that has it
}

// plainEntry is an entry of a list.
type plainEntry struct {
	list *plainList
	at   int
}

func (m *plainMemory) begin() {
	if m.known == nil {
		m.known = map[string]plainEntry{}
	}
	m.reading++
	m.used = 0
}

// end forgets what is not in the text, if that is the larger part.
func (m *plainMemory) end() {
	if len(m.known) <= 2*m.used+100 {
		return
	}
	for text, e := range m.known {
		if e.list.reading != m.reading {
			delete(m.known, text)
		}
	}
}

func (m *plainMemory) use(l *plainList) {
	l.reading = m.reading
	m.used += l.entries.Len()
}

// add adds a list. ends are where its entries end in the text.
func (m *plainMemory) add(text string, ends []int, entries reflect.Value) {
	l := &plainList{text: strings.Clone(text), entries: entries}
	m.use(l)
	begin := 0
	for i, end := range ends {
		m.known[l.text[begin:end]] = plainEntry{l, i}
		begin = end
	}
}

// turn is how many entries are decoded, or lists found, before other goroutines get their turn: event loops share the processor.
const turn = 16

// rememberedList is list for routes.
func (r *plainReader) rememberedList(p *plan, to reflect.Value) {
	start, indent := r.plainLines, r.indent
	if e, ok := r.memory.known[r.entryText(indent)]; ok && e.at == 0 && r.skip(e.list.text) {
		if !r.have || r.indent < indent || r.indent == indent && !r.entry() {
			r.memory.use(e.list)
			to.Set(e.list.entries)
			r.pause()
			return
		}
		r.plainLines = start
	}
	made := reflect.New(p.typ).Elem()
	var ends []int
	for n := 0; r.have && r.indent == indent && r.entry(); n++ {
		made.Grow(1)
		made.SetLen(n + 1)
		text, end := r.entryText(indent), r.start-start.start
		ends = append(ends, end+len(text))
		if e, ok := r.memory.known[text]; ok && r.skip(text) {
			made.Index(n).Set(e.list.entries.Index(e.at))
		} else {
			r.listEntry(p.elem, made.Index(n))
		}
		r.pause()
	}
	if r.have && r.indent > indent {
		refuse()
	}
	text := start.text[start.start:]
	r.memory.add(text[:ends[len(ends)-1]], ends, made)
	to.Set(made)
}

// skip goes to the line behind whole lines, if the text goes on with these on the current one.
func (l *plainLines) skip(lines string) bool {
	rest, ok := strings.CutPrefix(l.text[l.start:], lines)
	if !ok || rest != "" && lines[len(lines)-1] != '\n' {
		return false
	}
	l.at = l.start + len(lines)
	l.next()
	return true
}

// pause gives other goroutines their turn now and then.
func (r *plainReader) pause() {
	if r.turns++; r.turns%turn == 0 {
		runtime.Gosched()
	}
}
