package nats

import (
	"bytes"
	"errors"
	"fmt"

	"example.com/ferry"
	"example.com/ferry/engine"
	"example.com/ferry/internal/topic"
)

// mostTags bounds the tags that a fieldParser remembers.
const mostTags = 4096

// fieldParser makes engine records of block records. It allocates nothing for a record without ID and extension whose tag it remembers.
type fieldParser struct {
	filter  string
	foreign bool // NATS clients can publish on the subjects of tags

	tags    map[string]string // by subject; "" if the filter does not match
	subject []byte            // of the last record
	tag     string
}

// record returns the record of b, whose Payload is a part of the block's buffer. The Tag is empty if the filter does not match; other
// fields are then not set. After an error a consumer has to read the record: the parser knows only the usual forms of headers.
func (p *fieldParser) record(b *blockRecord) (engine.Record, error) {
	r := engine.Record{Sequence: b.sequence}
	var err error
	if r.Tag, err = p.tagOf(b.subject); err != nil || r.Tag == "" {
		return r, err
	}
	r.Stored, r.Time, r.Type, r.Payload = b.stored, b.stored, ferry.Raw, b.payload
	typed, err := setFields(&r, b.header)
	if err != nil {
		return r, err
	}
	if !typed {
		r.Time, r.Validated, r.Extension = b.stored, false, nil
	}
	if p.foreign {
		r.Validated = false
	}
	return r, nil
}

// tagOf returns the tag of a subject, or "" if the filter does not match.
func (p *fieldParser) tagOf(subject []byte) (string, error) {
	if len(subject) == len(p.subject) && bytes.Equal(subject, p.subject) {
		return p.tag, nil
	}
	tag, ok := p.tags[string(subject)]
	if !ok {
		var err error
		if tag, err = tagOf(string(subject)); err != nil {
			return "", err
		}
		if subjectOf(tag) != string(subject) {
			return "", fmt.Errorf("subject %.200q is not as ferry writes it", subject)
		}
		if p.filter != "" && !topic.Match(p.filter, tag) {
			tag = ""
		}
		if p.tags == nil || len(p.tags) >= mostTags {
			p.tags = make(map[string]string)
		}
		p.tags[string(subject)] = tag
	}
	p.subject, p.tag = append(p.subject[:0], subject...), tag
	return tag, nil
}

var (
	headerBegin = []byte("NATS/1.0\r\n")
	headerEnd   = []byte("\r\n")
	errHeader   = errors.New("the headers have an unusual form")
)

// setFields sets the fields of r of which the headers of a message tell. typed says whether they have a type: they are ferry's then.
func setFields(r *engine.Record, header []byte) (typed bool, err error) {
	if len(header) == 0 {
		return false, nil
	}
	rest, ok := bytes.CutPrefix(header, headerBegin)
	var seen [6]bool
	for ok && len(rest) > len(headerEnd) {
		var line []byte
		if line, rest, ok = bytes.Cut(rest, headerEnd); !ok {
			break
		}
		key, value, found := bytes.Cut(line, []byte{':'})
		if !found || len(key) == 0 {
			return false, errHeader
		}
		i := fieldIndex(key)
		if i < 0 {
			continue
		}
		if seen[i] {
			return false, errHeader
		}
		seen[i] = true
		if value = bytes.TrimLeft(value, " \t"); len(value) == 0 {
			continue
		}
		if err := setField(r, string(key), string(value)); err != nil {
			return false, err
		}
		typed = typed || i == 0
	}
	if !ok || !bytes.Equal(rest, headerEnd) {
		return false, errHeader
	}
	return typed, nil
}

// fieldIndex returns the place of a header among those that setField knows, or -1.
func fieldIndex(key []byte) int {
	switch string(key) {
	case hdrType:
		return 0
	case hdrTime:
		return 1
	case hdrValid:
		return 2
	case hdrExt:
		return 3
	case hdrID:
		return 4
	case hdrMsgID:
		return 5
	}
	return -1
}
