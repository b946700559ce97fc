package edgex

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/internal/cborhead"
)

// Form is a wire form of an event in EdgeX.
type Form uint8

const (
	CBOR         Form = iota + 1 // an Event or AddEventRequest in CBOR without an envelope, as in a NATS message
	JSON                         // an Event or AddEventRequest in JSON without an envelope
	JSONEnvelope                 // a MessageEnvelope in JSON with a payload in JSON: EdgeX's default
	Base64CBOR                   // a MessageEnvelope in JSON with CBOR in base64 as its payload: EdgeX's default for binary readings
	Base64JSON                   // a MessageEnvelope in JSON with JSON in base64 as its payload: EDGEX_MSG_BASE64_PAYLOAD
	CBOREnvelope                 // a MessageEnvelope in CBOR with a map as its payload: EDGEX_MSG_CBOR_ENCODE
	CBORBytes                    // a MessageEnvelope in CBOR with CBOR in a byte string as its payload
)

var formNames = [...]string{
	"no event", "event in CBOR", "event in JSON", "JSON envelope", "JSON envelope with base64 of CBOR",
	"JSON envelope with base64 of JSON", "CBOR envelope", "CBOR envelope with bytes of CBOR",
}

// String returns a description of the form.
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return "unknown form"
}

// View reads and changes an encoded event in any form, in place. It decodes only the fields that its methods return, and does
// not read the bytes after them. The zero View is ready for Open. Reuse a View to save allocations: once its buffers have
// grown, only JSON names with escapes allocate. A View must not be copied after Open. Only one goroutine at a time may use it.
//
// A View trusts the message: if a key occurs twice, the View uses the first. Call Validate first for messages from outside.
type View struct {
	data  []byte
	form  Form
	stale bool // data was changed after Open and must be opened again

	envelope, event mapFields
	request         int       // offset of the AddEventRequest around the event; -1 if there is none
	reading         mapFields // fields of the current reading
	list            iterator  // iterator over the readings
	outer, inner    changes   // outer: changes of the message; inner: changes of the event within base64
	edit            format.Edit
	assembled       bool // edit contains all planned changes

	inCBOR   cborDocument
	inJSON   jsonDocument
	payload  cborDocument // document of a payload in Base64CBOR
	decoded  jsonDocument // document of a payload in Base64JSON
	start    int          // offset of the payload's content: base64 text, or the bytes of CBOR
	buf      []byte       // memory of decoded
	pending  []byte       // bytes to encode as base64
	encoded  []byte
	stripped []byte // the message without its long strings, for Validate
	removals []removal
}

// Open sets v to data, a message in any form, and reads the beginning of data. If data has more than limit bytes, Open returns
// an error before it reads any; 0 means MaxEvent. The cost does not depend on the size of data, except in Base64JSON: Open
// decodes that payload. v uses data until the next Open.
func (v *View) Open(data []byte, limit int) error {
	v.data, v.form, v.stale, v.assembled = nil, 0, false, false
	v.outer.reset()
	v.inner.reset()
	if err := checkSize(data, limit); err != nil {
		return err
	}
	v.inJSON.data = data
	var doc document
	form, start := CBOR, 0
	switch at := v.inJSON.space(0); {
	case at < len(data) && data[at] == '{':
		doc, form, start = &v.inJSON, JSON, at
	case len(data) > 0 && data[0]>>5 == cborhead.Map:
		v.inCBOR.plain(data)
		doc = &v.inCBOR
	case len(data) == 0:
		return errors.New("edgex: an empty message: want an event in CBOR or JSON, or an envelope around one")
	default:
		return fmt.Errorf("edgex: a message that starts with the byte 0x%02x: want a JSON object or a CBOR map", data[0])
	}
	v.data = data
	if err := v.open(doc, form, start); err != nil {
		v.data = nil
		return fmt.Errorf("edgex: open: %w", err)
	}
	return nil
}

// checkSize returns an error if data has more than limit bytes.
func checkSize(data []byte, limit int) error {
	if limit <= 0 {
		limit = MaxEvent
	}
	if len(data) > limit {
		return fmt.Errorf("edgex: message of %d bytes exceeds the limit of %d: raise it, or send smaller readings", len(data), limit)
	}
	return nil
}

// open finds out the form of the message. The first key that only one kind of message has decides.
func (v *View) open(doc document, form Form, pos int) error {
	v.envelope = mapFields{}
	switch k, err := v.distinctiveKey(doc, pos, keyPayload); {
	case err != nil:
		return err
	case k == noKey:
		return errors.New("none of the keys payload, event, id, deviceName, sourceName and readings: the message is no event, and no envelope of one")
	case k == keyPayload:
		v.envelope = v.event
		return v.openPayload(doc, form, v.event.at[keyPayload])
	default:
		v.form = form
		return v.enterEvent(k)
	}
}

// distinctiveKey opens the map at pos. It returns the first key that is either also or a key of an event or AddEventRequest.
// If the map has no such key, it returns noKey.
func (v *View) distinctiveKey(doc document, pos int, also key) (key, error) {
	if err := v.event.open(doc, pos); err != nil {
		return noKey, err
	}
	for {
		switch k, more, err := v.event.step(); {
		case err != nil || !more:
			return noKey, err
		case k == also || k == keyEvent || k == keyID || k == keyDeviceName || k == keySourceName || k == keyReadings:
			return k, nil
		}
	}
}

// openPayload opens the payload of an envelope at pos.
func (v *View) openPayload(doc document, form Form, pos int) error {
	kind, err := doc.kind(pos)
	switch {
	case err != nil:
		return err
	case kind == field.Map && form == CBOR:
		return v.openEvent(doc, CBOREnvelope, pos)
	case kind == field.Map:
		return v.openEvent(doc, JSONEnvelope, pos)
	case kind == field.Bytes:
		h, err := v.inCBOR.head(pos)
		if err == nil && h.Info == cborhead.Indefinite {
			err = errors.New("the payload has chunks: want bytes of definite length")
		}
		if v.start = h.Next; err != nil {
			return err
		}
		return v.openEvent(doc, CBORBytes, h.Next)
	case kind == field.Text && form == JSON:
		v.start = pos + 1
		return v.openBase64()
	}
	return fmt.Errorf("the payload is %v: want an event, as a map, or encoded", kind)
}

func (v *View) openBase64() error {
	v.payload.encoded(v.data[v.start:])
	first, err := v.payload.at(0, 1)
	if err != nil {
		return fmt.Errorf("the payload: %w", err)
	}
	if first[0]>>5 == cborhead.Map {
		return v.openEvent(&v.payload, Base64CBOR, 0)
	}
	if first[0] != '{' {
		return fmt.Errorf("the payload is base64 of something that starts with the byte 0x%02x: want a CBOR map or a JSON object", first[0])
	}
	end, _, err := json.SkipString(v.inJSON.data, v.start)
	if err != nil {
		return err
	}
	if v.buf, err = appendDecoded(v.buf[:0], v.data[v.start:end], 0, (end-v.start)/4*3); err != nil {
		return err
	}
	v.decoded.data = v.buf
	return v.openEvent(&v.decoded, Base64JSON, 0)
}

// openEvent opens the Event or AddEventRequest at pos.
func (v *View) openEvent(doc document, form Form, pos int) error {
	v.form = form
	k, err := v.distinctiveKey(doc, pos, keyEvent)
	if err == nil && k == noKey {
		err = errors.New("the payload has none of the keys event, id, deviceName, sourceName and readings: the payload is no event")
	}
	if err != nil {
		return err
	}
	return v.enterEvent(k)
}

// enterEvent opens the event within an AddEventRequest, if k is the key of that event.
func (v *View) enterEvent(k key) error {
	if v.request = -1; k != keyEvent {
		return nil
	}
	v.request = v.event.it.head
	return v.event.open(v.event.doc, v.event.at[keyEvent])
}

// Form returns the form of the message.
func (v *View) Form() Form { return v.form }

// ID returns the event's ID, or field.ErrNotFound if the event has no ID. The returned text is valid until the next call of a
// method of v. This holds for all texts that a View returns.
func (v *View) ID() ([]byte, error) { return v.text(keyID) }

// DeviceName returns the name of the event's device.
func (v *View) DeviceName() ([]byte, error) { return v.text(keyDeviceName) }

// ProfileName returns the name of the event's device profile.
func (v *View) ProfileName() ([]byte, error) { return v.text(keyProfileName) }

// SourceName returns the name of the event's source: either a resource, or a command that returns several resources.
func (v *View) SourceName() ([]byte, error) { return v.text(keySourceName) }

func (v *View) text(k key) ([]byte, error) {
	if err := v.ready(); err != nil {
		return nil, err
	}
	return v.event.text(k)
}

// ready opens the message again if it was changed in place.
func (v *View) ready() error {
	switch {
	case v.data == nil:
		return errNotOpen
	case v.stale:
		return v.Open(v.data, len(v.data))
	}
	return nil
}

var errNotOpen = errors.New("edgex: the view has no message: Open one first")

// Origin returns the time of the event in nanoseconds of Unix time.
func (v *View) Origin() (int64, error) {
	if err := v.ready(); err != nil {
		return 0, err
	}
	pos, found, err := v.event.find(keyOrigin)
	if err == nil && !found {
		err = field.ErrNotFound
	}
	var n int64
	if err == nil {
		n, err = v.event.doc.integer(pos)
	}
	if err != nil {
		return 0, fmt.Errorf("edgex: origin: %w", err)
	}
	return n, nil
}

// CorrelationID returns the envelope's correlation ID. It returns field.ErrNotFound if there is no envelope.
func (v *View) CorrelationID() ([]byte, error) { return v.envelopeText(keyCorrelationID) }

// ContentType returns the envelope's content type. That field follows the payload, so ContentType must skip the payload. In
// JSON it searches for the payload's end.
func (v *View) ContentType() ([]byte, error) { return v.envelopeText(keyContentType) }

func (v *View) envelopeText(k key) ([]byte, error) {
	if err := v.ready(); err != nil {
		return nil, err
	}
	if v.envelope.doc == nil {
		return nil, fmt.Errorf("edgex: %s of an event without an envelope: %w", keyNames[k], field.ErrNotFound)
	}
	return v.envelope.text(k)
}
