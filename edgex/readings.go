package edgex

import (
	"fmt"

	"example.com/ferry/field"
)

// eachReading calls visit for each reading of the event in order. v.reading is open on that reading.
func (v *View) eachReading(visit func(it *iterator) error) error {
	v.list = iterator{}
	pos, found, err := v.event.find(keyReadings)
	if err != nil || !found {
		return err
	}
	doc := v.event.doc
	kind, err := doc.kind(pos)
	if err != nil || kind == field.Null {
		return err
	}
	if kind != field.List {
		return fmt.Errorf("edgex: readings: %v: want a list", kind)
	}
	it := &v.list
	if err := doc.open(it, pos); err != nil {
		return err
	}
	for {
		more, err := doc.next(it)
		if err == nil && more {
			err = v.reading.open(doc, it.value)
		}
		if err == nil && more {
			err = visit(it)
		}
		if err != nil {
			return fmt.Errorf("edgex: reading %d: %w", it.count, err)
		}
		if !more {
			return nil
		}
	}
}

// onlyReading reports whether the event has exactly one reading. v.reading then has all its members.
func (v *View) onlyReading() (bool, error) {
	n := 0
	err := v.eachReading(func(*iterator) error {
		n++
		for n == 1 {
			if _, more, err := v.reading.step(); err != nil || !more {
				return err
			}
		}
		return nil
	})
	return n == 1, err
}

// KeepReadings plans the removal of the readings for whose resource keep returns false, and returns the number of the others.
// It reads all readings, as SetDeviceName does, without decoding them. In the optimised form a single reading may have no
// resource name; its resource is then the event's source.
func (v *View) KeepReadings(keep func(resource []byte) bool) (kept int, err error) {
	if err := v.ready(); err != nil {
		return 0, err
	}
	p := v.eventChanges()
	before := p.serial
	first := 0 // offset of the first reading
	gap := -1  // offset of the bytes to remove; -1 if the previous reading was kept
	err = v.eachReading(func(it *iterator) error {
		if it.count == 0 {
			first = it.start
		}
		name, err := v.resourceName()
		if err != nil {
			return err
		}
		// A comma is removed with each reading: the comma behind it while no reading was kept, otherwise the one before it.
		from, to := it.end, it.end
		if kept == 0 {
			from, to = first, it.start
		}
		switch keeps := keep(name); {
		case keeps && gap >= 0:
			err, gap = p.put(gap, to, nil), -1
			kept++
		case keeps:
			kept++
		case gap < 0:
			gap = from
		}
		return err
	})
	if err == nil && kept < v.list.count {
		if gap >= 0 {
			err = p.put(gap, v.list.end, nil)
		}
		if err == nil {
			err = v.event.doc.updateCount(p, &v.list, kept)
		}
	}
	if err != nil {
		p.undo(before)
		return 0, err
	}
	return kept, nil
}

// resourceName returns the resource of the current reading.
func (v *View) resourceName() ([]byte, error) {
	_, found, err := v.reading.find(keyResourceName)
	if err != nil || found {
		if err != nil {
			return nil, err
		}
		return v.reading.text(keyResourceName)
	}
	return v.event.text(keySourceName)
}
