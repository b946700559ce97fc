package config

import (
	"reflect"
	"runtime"
	"strings"
)

// plainMemory has the lists of routes that plainReaders have decoded, by their text. Where a file has thousands of routes, a change leaves most as
// they are: the next configuration shares these with the one before, and neither may be changed. The same text has the same meaning
// everywhere: plain YAML has no anchors, and the text includes its indentation. A text that is refused changes nothing: the node runs with the
// lists of the text before.
type plainMemory struct {
	lists   map[string]*plainList // key is plainList.text
	entries map[string]plainEntry // key is the text of the entry, a part of plainList.text
	size    int                   // entries of all lists

	reading int                   // number of the text that is read
	used    int                   // entries of the lists in it
	fresh   map[string]*plainList // lists that are new in it; nil unless one is read
}

// plainList is a list of routes.
type plainList struct {
	text    string // a copy: it does not hold the text of a file
	ends    []int  // where each entry ends in text
	entries reflect.Value
	reading int // the last text that has it
}

// plainEntry is an entry of a list.
type plainEntry struct {
	list *plainList
	at   int
}

func (m *plainMemory) begin() {
	if m.lists == nil {
		m.lists, m.entries = map[string]*plainList{}, map[string]plainEntry{}
	}
	m.reading++
	m.used, m.fresh = 0, map[string]*plainList{}
}

// find returns the list with a text, or nil.
func (m *plainMemory) find(text string) *plainList {
	l := m.lists[text]
	if l == nil {
		l = m.fresh[text]
	}
	if l != nil {
		l.reading = m.reading
		m.used += l.entries.Len()
	}
	return l
}

// add adds a list. ends are where its entries end in the text.
func (m *plainMemory) add(text string, ends []int, entries reflect.Value) {
	text = strings.Clone(text)
	m.fresh[text] = &plainList{text, ends, entries, m.reading}
	m.used += entries.Len()
}

// end keeps the new lists, and forgets those that are not in the text if they are the larger part.
func (m *plainMemory) end() {
	for text, l := range m.fresh {
		m.lists[text] = l
		m.size += len(l.ends)
		begin := 0
		for i, end := range l.ends {
			m.entries[text[begin:end]] = plainEntry{l, i}
			begin = end
		}
	}
	if m.size <= 2*m.used+100 {
		return
	}
	for text, l := range m.lists {
		if l.reading != m.reading {
			delete(m.lists, text)
			m.size -= len(l.ends)
		}
	}
	for text, e := range m.entries {
		if e.list.reading != m.reading {
			delete(m.entries, text)
		}
	}
}

// turn is how many entries are decoded, or lists found, before other goroutines get their turn: event loops share the processor.
const turn = 16

// rememberedList is list for routes.
func (r *plainReader) rememberedList(p *plan, to reflect.Value) {
	start, indent := r.start, r.indent
	if l := r.memory.find(r.listText(indent)); l != nil {
		r.skip(l.text)
		to.Set(l.entries)
		r.pause()
		return
	}
	made := reflect.New(p.typ).Elem()
	var ends []int
	for n := 0; r.have && r.indent == indent && r.entry(); n++ {
		made.Grow(1)
		made.SetLen(n + 1)
		text := r.entryText(indent)
		ends = append(ends, r.start-start+len(text))
		if e, ok := r.memory.entries[text]; ok {
			made.Index(n).Set(e.list.entries.Index(e.at))
			r.skip(text)
		} else {
			r.listEntry(p.elem, made.Index(n))
		}
		r.pause()
	}
	if r.have && r.indent > indent {
		refuse()
	}
	r.memory.add(r.text[start:][:ends[len(ends)-1]], ends, made)
	to.Set(made)
}

// skip goes to the line behind whole lines, with which the text goes on at the current one.
func (l *plainLines) skip(lines string) {
	l.at = l.start + len(lines)
	l.next()
}

// pause gives other goroutines their turn now and then.
func (r *plainReader) pause() {
	if r.turns++; r.turns%turn == 0 {
		runtime.Gosched()
	}
}
