package edgex

import (
	"fmt"

	"example.com/ferry/field"
)

// eachReading calls visit for each reading of the event in order. During the call v.reading is open on that reading.
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

// onlyReading reports whether the event has exactly one reading. If so, v.reading has read all members of that reading.
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

// KeepReadings plans the removal of readings. It calls keep with the resource name of each reading and removes the reading if
// keep returns false. It returns the number of remaining readings. Like SetDeviceName it reads all readings without decoding
// them. In the optimised form a single reading may have no resource name. Then its resource is the event's source.
func (v *View) KeepReadings(keep func(resource []byte) bool) (kept int, err error) {
	if err := v.ready(); err != nil {
		return 0, err
	}
	p := v.eventChanges()
	before := p.serial
	first := 0 // offset of the first reading of the list
	gap := -1  // offset at which the bytes to remove start; -1 if the previous reading was kept
	err = v.eachReading(func(it *iterator) error {
		if it.count == 0 {
			first = it.start
		}
		name, err := v.resourceName()
		if err != nil {
			return err
		}
		// One comma is removed with each reading. If no reading was kept so far, it is the comma after the reading, otherwise
		// the one before.
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

// resourceName returns the name of the current reading's resource.
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
