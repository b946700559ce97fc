package edgex

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/ferry/field"
)

// Tag is one of an event's tags: a name and a text.
type Tag struct{ Name, Value string }

// SetID plans another ID for the event. AppendTo or InPlace applies the change. If a method that plans a change returns an
// error, v is unchanged.
func (v *View) SetID(id string) error { return v.set(keyID, id) }

// SetProfileName plans another profile name for the event. Each reading that has a profile name gets the new name, too.
func (v *View) SetProfileName(name string) error { return v.setAll(keyProfileName, name) }

// SetDeviceName plans another device name for the event. Each reading that has a device name gets the new name, too, because
// consumers expect one name in the whole message. It reads all readings: in CBOR each of their fields, in JSON each byte.
func (v *View) SetDeviceName(name string) error { return v.setAll(keyDeviceName, name) }

// SetSourceName plans another source name. In the optimised form a single reading may have no resource name, because its
// resource is the source. Then SetSourceName also writes the old source name into the reading.
func (v *View) SetSourceName(name string) error {
	if err := v.ready(); err != nil {
		return err
	}
	p := v.eventChanges()
	before := p.serial
	err := v.writeResourceName(p)
	if err == nil {
		err = v.set(keySourceName, name)
	}
	if err != nil {
		p.undo(before)
	}
	return err
}

// writeResourceName plans a resource name for a single reading that has none.
func (v *View) writeResourceName(p *changes) error {
	only, err := v.onlyReading()
	if err != nil || !only || v.reading.at[keyResourceName] != 0 {
		return err
	}
	source, err := v.event.text(keySourceName)
	if err != nil {
		return err
	}
	r := &v.reading
	p.begin()
	p.scratch = r.doc.appendText(r.doc.appendName(p.scratch, keyNames[keyResourceName], r.it.count == 0), string(source))
	if err = p.end(r.it.end, r.it.end); err != nil {
		return err
	}
	return r.doc.updateCount(p, &r.it, r.it.count+1)
}

// SetCorrelationID plans another correlation ID for the envelope.
func (v *View) SetCorrelationID(id string) error {
	if err := v.ready(); err != nil {
		return err
	}
	if v.envelope.doc == nil {
		return fmt.Errorf("edgex: correlationID of an event without an envelope: %w", field.ErrNotFound)
	}
	return v.replace(&v.outer, &v.envelope, keyCorrelationID, id)
}

func (v *View) set(k key, text string) error {
	if err := v.ready(); err != nil {
		return err
	}
	return v.replace(v.eventChanges(), &v.event, k, text)
}

func (v *View) setAll(k key, text string) error {
	if err := v.ready(); err != nil {
		return err
	}
	p := v.eventChanges()
	before := p.serial
	err := v.replace(p, &v.event, k, text)
	if err == nil {
		err = v.eachReading(func(*iterator) error {
			if _, found, err := v.reading.find(k); err != nil || !found {
				return err
			}
			return v.replace(p, &v.reading, k, text)
		})
	}
	if err != nil {
		p.undo(before)
	}
	return err
}

// replace plans that text replaces the value of k.
func (v *View) replace(p *changes, l *mapFields, k key, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("edgex: set %s: %q is not UTF-8: consumers would refuse the event", keyNames[k], text)
	}
	pos, found, err := l.find(k)
	if err == nil && !found {
		err = field.ErrNotFound
	}
	var kind field.Kind
	if err == nil {
		if kind, err = l.doc.kind(pos); err == nil && kind != field.Text {
			err = fmt.Errorf("it is %v, and only a text can be replaced", kind)
		}
	}
	var end int
	if err == nil {
		end, err = l.doc.skip(pos)
	}
	if err != nil {
		return fmt.Errorf("edgex: set %s: %w", keyNames[k], err)
	}
	v.assembled = false
	p.begin()
	p.scratch = l.doc.appendText(p.scratch, text)
	return p.end(pos, end)
}

// eventChanges returns the changes of the document that holds the event.
func (v *View) eventChanges() *changes {
	v.assembled = false
	if v.form == Base64CBOR || v.form == Base64JSON {
		return &v.inner
	}
	return &v.outer
}

// SetTags plans tags of the event. A tag with an existing name replaces the old value. Other tags are added after the last
// one. Two names that differ only in case are an error, because Validate would refuse the event.
func (v *View) SetTags(tags ...Tag) error {
	if err := v.ready(); err != nil || len(tags) == 0 {
		return err
	}
	for i, t := range tags {
		if !utf8.ValidString(t.Name) || !utf8.ValidString(t.Value) {
			return fmt.Errorf("edgex: tag %q with the value %q is not UTF-8: consumers would refuse the event", t.Name, t.Value)
		}
		for _, earlier := range tags[:i] {
			if strings.EqualFold(earlier.Name, t.Name) {
				return fmt.Errorf("edgex: tag %q is given twice, as %q before: leave one out", t.Name, earlier.Name)
			}
		}
	}
	p := v.eventChanges()
	before := p.serial
	err := v.setTags(p, tags)
	if err != nil {
		p.undo(before)
	}
	return err
}

func (v *View) setTags(p *changes, tags []Tag) error {
	e := &v.event
	pos, found, err := e.find(keyTags)
	if err != nil {
		return fmt.Errorf("edgex: tags: %w", err)
	}
	if !found {
		p.begin()
		p.scratch = appendTags(e.doc, e.doc.appendName(p.scratch, keyNames[keyTags], e.it.count == 0), tags)
		if err := p.end(e.it.end, e.it.end); err != nil {
			return err
		}
		return e.doc.updateCount(p, &e.it, e.it.count+1)
	}
	kind, err := e.doc.kind(pos)
	switch {
	case err != nil:
	case kind == field.Null:
		var end int
		if end, err = e.doc.skip(pos); err == nil {
			p.begin()
			p.scratch = appendTags(e.doc, p.scratch, tags)
			return p.end(pos, end)
		}
	case kind == field.Map:
		return v.mergeTags(p, pos, tags)
	default:
		err = fmt.Errorf("%v: want a map", kind)
	}
	return fmt.Errorf("edgex: tags: %w", err)
}

// mergeTags plans tags for the map of tags at pos.
func (v *View) mergeTags(p *changes, pos int, tags []Tag) error {
	doc := v.event.doc
	var it iterator
	err := doc.open(&it, pos)
	left := slices.Clone(tags)
	for err == nil {
		var more bool
		if more, err = doc.next(&it); err != nil || !more {
			break
		}
		for i := range left {
			if string(it.name) != left[i].Name {
				if bytes.EqualFold(it.name, []byte(left[i].Name)) {
					return fmt.Errorf("edgex: tag %q differs only in case from %q, which the event has: use that name", left[i].Name, it.name)
				}
				continue
			}
			var end int
			if end, err = doc.skip(it.value); err == nil {
				p.begin()
				p.scratch = doc.appendText(p.scratch, left[i].Value)
				err = p.end(it.value, end)
			}
			left = slices.Delete(left, i, i+1)
			break
		}
	}
	if err != nil || len(left) == 0 {
		return err
	}
	p.begin()
	p.scratch = appendMembers(doc, p.scratch, left, it.count == 0)
	if err := p.end(it.end, it.end); err != nil {
		return err
	}
	return doc.updateCount(p, &it, it.count+len(left))
}

func appendTags(doc document, dst []byte, tags []Tag) []byte {
	return doc.appendEnd(appendMembers(doc, doc.appendMap(dst, len(tags)), tags, true))
}

func appendMembers(doc document, dst []byte, tags []Tag, first bool) []byte {
	for i, t := range tags {
		dst = doc.appendText(doc.appendName(dst, t.Name, first && i == 0), t.Value)
	}
	return dst
}
