package edgex

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/ferry/field"
)

// Tag is a name and a text for the tags of an event.
type Tag struct{ Name, Value string }

// SetID plans another ID for the event; see AppendTo. Like all that plan a change, it leaves v as it was on any error.
func (v *View) SetID(id string) error { return v.set(keyID, id) }

// SetProfileName plans another profile name for the event and for each of its readings that names one.
func (v *View) SetProfileName(name string) error { return v.setAll(keyProfileName, name) }

// SetDeviceName plans another device name for the event and for each of its readings that names one, as consumers expect
// them to agree. All readings are passed: that costs a look at each of their fields in CBOR, and at each byte in JSON.
func (v *View) SetDeviceName(name string) error { return v.setAll(keyDeviceName, name) }

// SetSourceName plans another source name. A single reading of the optimised form, whose resource goes without saying as
// it has the old name of the source, gets it said.
func (v *View) SetSourceName(name string) error {
	if err := v.ready(); err != nil {
		return err
	}
	p := v.plan()
	before := p.serial
	err := v.nameResource(p)
	if err == nil {
		err = v.set(keySourceName, name)
	}
	if err != nil {
		p.undo(before)
	}
	return err
}

// nameResource plans the name of a resource that goes without saying.
func (v *View) nameResource(p *plan) error {
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
	return r.doc.recount(p, &r.it, r.it.count+1)
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
	return v.replace(v.plan(), &v.event, k, text)
}

func (v *View) setAll(k key, text string) error {
	if err := v.ready(); err != nil {
		return err
	}
	p := v.plan()
	before := p.serial
	err := v.replace(p, &v.event, k, text)
	if err == nil {
		err = v.eachReading(func(*items) error {
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

// replace plans text in the place of the one at k.
func (v *View) replace(p *plan, l *level, k key, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("edgex: set %s: %q is not UTF-8: no consumer would take the event", keyNames[k], text)
	}
	pos, found, err := l.find(k)
	if err == nil && !found {
		err = field.ErrNotFound
	}
	var kind field.Kind
	if err == nil {
		if kind, err = l.doc.kind(pos); err == nil && kind != field.Text {
			err = fmt.Errorf("it is %v: only a text can be replaced", kind)
		}
	}
	var end int
	if err == nil {
		end, err = l.doc.skip(pos)
	}
	if err != nil {
		return fmt.Errorf("edgex: set %s: %w", keyNames[k], err)
	}
	v.sealed = false
	p.begin()
	p.scratch = l.doc.appendText(p.scratch, text)
	return p.end(pos, end)
}

// plan is where changes of the event go.
func (v *View) plan() *plan {
	v.sealed = false
	if v.form == Base64CBOR || v.form == Base64JSON {
		return &v.inner
	}
	return &v.outer
}

// SetTags plans tags of the event: those that it has already get the new value, the others are added behind them. An
// event without tags gets them. One that differs only in case from another is refused, as Validate would the event.
func (v *View) SetTags(tags ...Tag) error {
	if err := v.ready(); err != nil || len(tags) == 0 {
		return err
	}
	for i, t := range tags {
		if !utf8.ValidString(t.Name) || !utf8.ValidString(t.Value) {
			return fmt.Errorf("edgex: tag %q with the value %q is not UTF-8: no consumer would take the event", t.Name, t.Value)
		}
		for _, earlier := range tags[:i] {
			if strings.EqualFold(earlier.Name, t.Name) {
				return fmt.Errorf("edgex: tag %q is given twice, as %q before: leave one out", t.Name, earlier.Name)
			}
		}
	}
	p := v.plan()
	before := p.serial
	err := v.setTags(p, tags)
	if err != nil {
		p.undo(before)
	}
	return err
}

func (v *View) setTags(p *plan, tags []Tag) error {
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
		return e.doc.recount(p, &e.it, e.it.count+1)
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
		err = fmt.Errorf("they are %v: want a map", kind)
	}
	return fmt.Errorf("edgex: tags: %w", err)
}

// mergeTags plans tags for the map at pos.
func (v *View) mergeTags(p *plan, pos int, tags []Tag) error {
	doc := v.event.doc
	var it items
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
					return fmt.Errorf("edgex: tag %q differs only in case from %q, which the event has: set that", left[i].Name, it.name)
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
	return doc.recount(p, &it, it.count+len(left))
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
