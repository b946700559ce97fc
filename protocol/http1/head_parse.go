package http1

import (
	"bytes"
	"fmt"

	"example.com/ferry/protocol/httprule"
)

// startParse prepares h for data. It reports whether data contains the end of a line that is not yet parsed.
func (h *Head) startParse(data []byte, response bool) bool {
	if h.phase == atEnd || h.Fields == nil {
		h.Reset()
	}
	h.response = response
	if h.scanned == 0 {
		return true
	}
	if h.scanned < len(data) && bytes.IndexByte(data[h.scanned:], '\n') >= 0 {
		return true
	}
	return false
}

// awaitLine records that the line at pos is incomplete. If the line is already too long, awaitLine refuses it.
func (h *Head) awaitLine(data []byte, pos int, l *Limits) (int, error) {
	h.pos, h.scanned = pos, len(data)
	return 0, h.checkLength(pos, len(data), l)
}

// checkLength returns an error if the line from pos to end, or a longer line, exceeds a limit. The result does not depend on
// how much of the line has arrived.
func (h *Head) checkLength(pos, end int, l *Limits) error {
	line, status, name := l.fieldLine(), 431, "field line"
	if h.phase == atFirstLine {
		line, status, name = l.requestLine(), 414, "first line"
	}
	if head := l.head(); head < pos+line {
		if end > head {
			return h.refuse(431, head, fmt.Sprintf("a head of more than %d bytes", head))
		}
	} else if end > pos+line {
		return h.refuse(status, pos, fmt.Sprintf("a %s of more than %d bytes", name, line))
	}
	return nil
}

// malformed refuses the line at pos because of the byte at offset. It does so only after the LF of the line has arrived. So
// the result does not depend on the pieces in which the bytes arrive.
func (h *Head) malformed(data []byte, pos int, l *Limits, status, offset int, reason string) (int, error) {
	n := bytes.IndexByte(data[pos:], '\n')
	if n < 0 {
		return h.awaitLine(data, pos, l)
	}
	if err := h.checkLength(pos, pos+n+1, l); err != nil {
		return 0, err
	}
	return 0, h.refuse(status, offset, reason+" in "+quote(data[pos:pos+n+1]))
}

// parseFields parses the lines from h.pos to the empty line. It returns the offset after the empty line, or 0 if the head is
// incomplete.
func (h *Head) parseFields(data []byte, l *Limits) (int, error) {
	maxHead, maxLine, maxFields := l.head(), l.fieldLine(), l.fields()
	pos := h.pos
	for {
		if pos+1 < len(data) && data[pos] == '\r' && data[pos+1] == '\n' {
			if err := h.checkLength(pos, pos+2, l); err != nil {
				return 0, err
			}
			h.fieldsEnd = pos
			return pos + 2, nil
		}
		colon, start, end := fieldLine(data, pos)
		switch {
		case end < 0:
			return h.malformed(data, pos, l, 400, ^end, describeField(data, pos, ^end))
		case end == 0:
			return h.awaitLine(data, pos, l)
		}
		next := end + 2
		if next-pos > maxLine || next > maxHead {
			return 0, h.checkLength(pos, next, l)
		}
		if len(h.Fields) == maxFields {
			return 0, h.refuse(431, pos, fmt.Sprintf("a head of more than %d fields", maxFields))
		}
		id := httprule.FieldID(data[pos:colon])
		f := Field{Name: span(pos, colon), Value: span(start, httprule.TrimTrailingSpace(data, start, end)), ID: id}
		h.Fields = append(h.Fields, f)
		if id != httprule.Other {
			if err := h.takeField(data, f, next); err != nil {
				return 0, err
			}
		}
		pos = next
		h.pos = pos
	}
}

// fieldLine parses the field line at pos. It returns the offsets of the colon, of the value's first byte and of the CRLF. All
// three are 0 if the line is incomplete. If the line is malformed, end is the bitwise complement of the offset of the wrong
// byte.
func fieldLine(data []byte, pos int) (colon, start, end int) {
	colon = httprule.Past(data, pos, httprule.TokenChar)
	if colon == len(data) {
		return 0, 0, 0
	}
	if data[colon] != ':' || colon == pos {
		return 0, 0, ^colon
	}
	start = httprule.PastSpace(data, colon+1)
	end = httprule.PastText(data, start)
	if lineIncomplete(data, end) {
		return 0, 0, 0
	}
	if data[end] != '\r' || data[end+1] != '\n' {
		return 0, 0, ^end
	}
	return colon, start, end
}

// lineIncomplete reports whether more data is needed to see whether CRLF follows the text. The text ends at offset end.
func lineIncomplete(data []byte, end int) bool {
	return end+1 >= len(data) && (end == len(data) || data[end] == '\r')
}

// describeField returns why the line at pos is no field line. at is the offset of the wrong byte.
func describeField(data []byte, pos, at int) string {
	if bytes.IndexByte(data[pos:at], ':') >= 0 {
		return describeText(data[at])
	}
	c := data[at]
	switch {
	case (c == ' ' || c == '\t') && at == pos:
		return "white space before a field name, or a folded line"
	case c == ' ' || c == '\t':
		return "white space in or after a field name"
	case c == ':':
		return "an empty field name"
	case c == '\n' || c == '\r':
		return "a line without a colon, or not ended by CRLF"
	}
	return fmt.Sprintf("character %q in a field name", c)
}

func describeText(c byte) string {
	switch c {
	case '\n':
		return "LF without CR before it"
	case '\r':
		return "CR without LF behind it"
	}
	return fmt.Sprintf("control character %q", c)
}
