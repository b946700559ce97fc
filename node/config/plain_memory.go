package config

import (
	"reflect"
	"strings"

	"example.com/ferry/internal/pace"
)

// plainMemory has the lists of routes that plainReaders have decoded, by their text. Where a file has thousands of routes, a change leaves most as
// they are: the next configuration shares these with the one before, and neither may be changed. The same text has the same meaning
// everywhere: plain YAML has no anchors, and the text includes its indentation. A text that is refused changes nothing: the node runs with the
// lists of the text before.
type plainMemory struct {
	lists   map[string]*plainList // key is plainList.text
	entries map[string]plainEntry // key is the text of the entry, a part of plainList.text
	size    int                   // entries of all lists

	order   []*plainList          // the lists of the last text
	reading int                   // number of the text that is read
	found   []*plainList          // the lists in it so far
	follows int                   // index in order of the list that comes next if the text goes on as the last one
	used    int                   // entries of the lists in it
	fresh   map[string]*plainList // lists that are new in it; nil unless one is read
}

// plainList is a list of routes.
type plainList struct {
	text    string // a copy: it does not hold the text of a file
	ends    []int  // where each entry ends in text
	entries reflect.Value
	reading int // the last text that has it
	place   int // in order, if the last text has it
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
	m.found, m.follows = make([]*plainList, 0, len(m.order)+1), 0
}

// find returns the list that begins on the current line of a text, or nil. A list that follows the one before it in the last text, too, costs
// a comparison; others are looked up by their text.
func (m *plainMemory) find(at *plainLines, indent int) (l *plainList) {
	if m.follows < len(m.order) && at.isList(m.order[m.follows].text, indent) {
		l = m.order[m.follows]
	} else {
		text := at.listText(indent)
		if l = m.lists[text]; l == nil {
			l = m.fresh[text]
		}
	}
	if l != nil {
		m.use(l)
	}
	return l
}

// use notes that the text has a list.
func (m *plainMemory) use(l *plainList) {
	expected := m.follows < len(m.order) && m.order[m.follows] == l
	if !expected && l.place < len(m.order) && m.order[l.place] == l {
		m.follows = l.place
	}
	m.follows++
	l.reading = m.reading
	m.found = append(m.found, l)
	m.used += l.entries.Len()
}

// add adds a list. ends are where its entries end in the text.
func (m *plainMemory) add(text string, ends []int, entries reflect.Value) {
	text = strings.Clone(text)
	l := &plainList{text: text, ends: ends, entries: entries}
	m.fresh[text] = l
	m.use(l)
}

// end keeps the new lists, and forgets those that are not in the text if they are the larger part.
func (m *plainMemory) end() {
	m.order, m.found = m.found, nil
	for i, l := range m.order {
		l.place = i
	}
	for text, l := range m.fresh {
		m.lists[text] = l
		m.size += len(l.ends)
		begin := 0
		for i, end := range l.ends {
			m.entries[text[begin:end]] = plainEntry{l, i}
			begin = end
			pace.Step()
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
		pace.Step()
	}
	for text, e := range m.entries {
		if e.list.reading != m.reading {
			delete(m.entries, text)
		}
		pace.Step()
	}
}

// rememberedList is list for routes.
func (r *plainReader) rememberedList(p *plan, to reflect.Value) {
	start, indent := r.start, r.indent
	if l := r.memory.find(&r.plainLines, indent); l != nil {
		r.skip(l.text)
		to.Set(l.entries)
		pace.Step()
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
		pace.Step()
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
