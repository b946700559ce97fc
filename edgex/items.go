package edgex

import (
	"fmt"

	"example.com/ferry/field"
)

// document is an encoded message, in one of two formats, as far as EdgeX needs it: maps, lists, texts and integers at byte
// offsets, read where they stand. Nothing behind what is asked for is looked at.
type document interface {
	// kind tells what stands at pos: field.Map, List, Text, Bytes, Int, Null, or Extension for anything else.
	kind(pos int) (field.Kind, error)

	// open begins to pass the members of the map, or the items of the list, at pos.
	open(it *items, pos int) error

	// next moves it to the next member or item; false at the end.
	next(it *items) (bool, error)

	// skip returns the offset behind the value at pos.
	skip(pos int) (int, error)

	// text returns the content of the text at pos, valid until the next call of any method.
	text(pos int) ([]byte, error)

	// integer returns the integer at pos.
	integer(pos int) (int64, error)

	// appendText appends text as the format writes it.
	appendText(dst []byte, text string) []byte

	// appendMap appends the start of a map of n members, and appendEnd its end.
	appendMap(dst []byte, n int) []byte
	appendEnd(dst []byte) []byte

	// appendName appends the name of a map's member, and what separates it from the one before it, if it is not the first.
	appendName(dst []byte, name string, first bool) []byte

	// recount plans what a container needs whose members or items become n, beside their own bytes.
	recount(p *plan, it *items, n int) error
}

// items passes the members of a map or the items of a list one by one.
type items struct {
	head, body int // where the container starts, and where its content does
	left       int // CBOR: how many are still to come; -1 if a break ends them
	count      int // passed so far
	list       bool
	done       bool
	name       []byte // of the member at hand, valid until the document's next method is called
	start      int    // where its name starts, or the item itself
	value      int    // where its value starts
	behind     int    // behind the value, where that is known; else 0
	end        int    // behind the one before it; at the end: behind the last
}

// pass moves it behind the value at hand.
func (it *items) pass(doc document) (err error) {
	if it.value == 0 {
		return nil
	}
	if it.end = it.behind; it.end == 0 {
		it.end, err = doc.skip(it.value)
	}
	it.behind = 0
	it.count++
	return err
}

// key is a name that EdgeX defines and ferry reads.
type key uint8

const (
	noKey key = iota
	keyID
	keyDeviceName
	keyProfileName
	keySourceName
	keyOrigin
	keyReadings
	keyTags
	keyEvent
	keyPayload
	keyCorrelationID
	keyContentType
	keyResourceName
	keyBinaryValue
	keys // how many there are
)

var keyNames = [keys]string{
	keyID: "id", keyDeviceName: "deviceName", keyProfileName: "profileName", keySourceName: "sourceName",
	keyOrigin: "origin", keyReadings: "readings", keyTags: "tags", keyEvent: "event", keyPayload: "payload",
	keyCorrelationID: "correlationID", keyContentType: "contentType", keyResourceName: "resourceName",
	keyBinaryValue: "binaryValue",
}

func keyOf(name []byte) key {
	switch string(name) {
	case "id":
		return keyID
	case "deviceName":
		return keyDeviceName
	case "profileName":
		return keyProfileName
	case "sourceName":
		return keySourceName
	case "origin":
		return keyOrigin
	case "readings":
		return keyReadings
	case "tags":
		return keyTags
	case "event":
		return keyEvent
	case "payload":
		return keyPayload
	case "correlationID":
		return keyCorrelationID
	case "contentType":
		return keyContentType
	case "resourceName":
		return keyResourceName
	case "binaryValue":
		return keyBinaryValue
	}
	return noKey
}

// level is a map whose members are found as they are asked for: it is read once, and no further than needed.
type level struct {
	doc document
	it  items
	at  [keys]int // where the value of a key starts; 0 if it was not passed yet
}

func (l *level) open(doc document, pos int) error {
	*l = level{doc: doc}
	return doc.open(&l.it, pos)
}

// step passes one more member, and returns its key. Of a key that stands twice the first one counts.
func (l *level) step() (k key, more bool, err error) {
	if l.it.done {
		return noKey, false, nil
	}
	if more, err = l.doc.next(&l.it); err != nil || !more {
		return noKey, false, err
	}
	if k = keyOf(l.it.name); k != noKey && l.at[k] == 0 {
		l.at[k] = l.it.value
	}
	return k, true, nil
}

// find returns where the value of k starts; false if there is no such key.
func (l *level) find(k key) (int, bool, error) {
	for l.at[k] == 0 {
		if _, more, err := l.step(); err != nil || !more {
			return 0, false, err
		}
	}
	return l.at[k], true, nil
}

// text returns the text at k.
func (l *level) text(k key) ([]byte, error) {
	pos, found, err := l.find(k)
	if err == nil && !found {
		err = field.ErrNotFound
	}
	var text []byte
	if err == nil {
		text, err = l.doc.text(pos)
	}
	if err != nil {
		return nil, fmt.Errorf("edgex: %s: %w", keyNames[k], err)
	}
	return text, nil
}
