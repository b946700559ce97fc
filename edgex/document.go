package edgex

import (
	"fmt"

	"example.com/ferry/field"
)

// document reads the maps, lists, texts and integers of an encoded message, in CBOR or JSON. Values are named by their byte
// offsets. A method that returns a value does not read the bytes after that value.
type document interface {
	// kind returns the kind of the value at pos: field.Map, List, Text, Bytes, Int, Null, or Extension for all other kinds.
	kind(pos int) (field.Kind, error)

	// open starts the iteration over a map's members or a list's items. The map or list is at pos.
	open(it *iterator, pos int) error

	// next advances the iterator to the next member or item. It returns false at the end.
	next(it *iterator) (bool, error)

	// skip returns the offset after the value at pos.
	skip(pos int) (int, error)

	// text returns the content of the text at pos. It is valid until the next call of any method.
	text(pos int) ([]byte, error)

	// integer returns the integer at pos.
	integer(pos int) (int64, error)

	// appendText appends text in the encoding of the format.
	appendText(dst []byte, text string) []byte

	// appendMap appends the start of a map of n members. appendEnd appends the end of a map.
	appendMap(dst []byte, n int) []byte
	appendEnd(dst []byte) []byte

	// appendName appends the name of a map's member. A separator precedes every name except the first.
	appendName(dst []byte, name string, first bool) []byte

	// updateCount plans that the head of a container says n members or items.
	updateCount(p *changes, it *iterator, n int) error
}

// iterator visits the members of a map or the items of a list in order.
type iterator struct {
	head, body int // head is the offset of the container, body the offset of its content
	left       int // CBOR: number of members or items that follow; -1 if a break ends the container
	count      int // number of members or items visited
	list       bool
	done       bool
	name       []byte // name of the current member; valid until the next call of a document's method
	start      int    // offset of the current member's name, or of the current item
	value      int    // offset of the current value
	valueEnd   int    // offset after the current value; 0 if not yet known
	end        int    // offset after the previous member or item, or after the last one once the iteration is over
}

// skipValue advances the iterator to the offset after the current value.
func (it *iterator) skipValue(doc document) (err error) {
	if it.value == 0 {
		return nil
	}
	if it.end = it.valueEnd; it.end == 0 {
		it.end, err = doc.skip(it.value)
	}
	it.valueEnd = 0
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
	keys // number of keys
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

// mapFields finds members of a map. It reads the map once. It stops reading after the last member that was searched for.
type mapFields struct {
	doc document
	it  iterator
	at  [keys]int // offset of each key's value; 0 if not yet seen
}

func (l *mapFields) open(doc document, pos int) error {
	*l = mapFields{doc: doc}
	return doc.open(&l.it, pos)
}

// step advances to the next member and returns its key. If the map has a key twice, l.at keeps the offset of the first value.
func (l *mapFields) step() (k key, more bool, err error) {
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

// find returns the offset of the value of k. It returns false if the map has no such key.
func (l *mapFields) find(k key) (int, bool, error) {
	for l.at[k] == 0 {
		if _, more, err := l.step(); err != nil || !more {
			return 0, false, err
		}
	}
	return l.at[k], true, nil
}

// text returns the text that is the value of k.
func (l *mapFields) text(k key) ([]byte, error) {
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
