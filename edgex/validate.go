package edgex

import (
	"bytes"
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
)

// strictly refuses also keys that differ in case: EdgeX up to 4.0.2 takes them for one, later ones do not.
var strictly = format.Options{FoldKeys: true}

// Validate reads the whole message and gives nil only if all consumers read it alike: the format's own rules within and
// around the payload, no key twice in any case, contentType and payload agree, base64 without damage and with the one
// padding it can have, and what EdgeX defines as text is text. The cost grows with the number of items in CBOR, also in
// base64, of which byte strings are checked for their alphabet but not decoded; with the number of bytes in JSON.
func (v *View) Validate() error {
	if err := v.ready(); err != nil {
		return err
	}
	if err := v.validate(); err != nil {
		return fmt.Errorf("edgex: %s: %w", v.form, err)
	}
	return nil
}

func (v *View) validate() error {
	var err error
	switch v.form {
	case CBOR, CBOREnvelope:
		err = cbor.Format{}.Validate(v.data, strictly)
	case CBORBytes:
		err = v.validateBytes()
	case JSON, JSONEnvelope:
		err = json.Format{}.Validate(v.data, strictly)
	case Base64CBOR, Base64JSON:
		err = v.validateBase64()
	}
	if err == nil {
		err = v.validateFields()
	}
	return err
}

func (v *View) validateBytes() error {
	if err := (cbor.Format{}).Validate(v.data, strictly); err != nil {
		return err
	}
	end, err := v.inCBOR.skip(v.envelope.at[keyPayload])
	if err != nil {
		return err
	}
	return inPayload(cbor.Format{}.Validate(v.data[v.start:end], strictly))
}

func (v *View) validateBase64() error {
	n := base64Len(v.data[v.start:])
	end := v.start + n
	switch {
	case end < len(v.data) && v.data[end] != '"':
		return syntax("json", end, fmt.Sprintf("%q in base64: the payload is damaged", v.data[end]))
	case n%4 != 0:
		return syntax("json", end, fmt.Sprintf("%d characters of base64, no multiple of four: the payload was cut", n))
	case end == len(v.data):
		return syntax("json", end, "the payload was cut")
	}
	// The envelope is validated without the payload, whose characters can stand in a string.
	v.bare = append(append(v.bare[:0], v.data[:v.start]...), v.data[end:]...)
	v.cuts = append(v.cuts[:0], cut{v.start, n})
	if err := (json.Format{}).Validate(v.bare, strictly); err != nil {
		return v.uncut(err)
	}
	var err error
	if v.pending, err = appendDecoded(v.pending[:0], v.data[end-4:end], 0, 3); err != nil { // its padding may be wrong
		return err
	}
	if v.form == Base64JSON {
		return inPayload(json.Format{}.Validate(v.decoded.data, strictly))
	}
	if v.envelope.it.value == v.start-1 {
		v.envelope.it.behind = end + 1
	}
	if err := v.strip(v.data[v.start:end]); err != nil {
		return inPayload(err)
	}
	return inPayload(v.uncut(cbor.Format{}.Validate(v.bare, strictly)))
}

func inPayload(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("in the payload: %w", err)
}

// validateFields checks the kinds of what EdgeX defines, in a message that is well-formed, and whether contentType agrees
// with the payload.
func (v *View) validateFields() error {
	for _, k := range []key{keyID, keyDeviceName, keyProfileName, keySourceName} {
		if err := v.event.want(k, field.Text); err != nil {
			return err
		}
	}
	if err := v.event.want(keyOrigin, field.Int); err != nil {
		return err
	}
	if err := v.event.want(keyReadings, field.List); err != nil {
		return err
	}
	if err := v.event.want(keyTags, field.Map); err != nil {
		return err
	}
	if err := v.onlyOne(); err != nil || v.envelope.doc == nil {
		return err
	}
	if err := v.envelope.want(keyCorrelationID, field.Text); err != nil {
		return err
	}
	if err := v.envelope.want(keyContentType, field.Text); err != nil {
		return err
	}
	want := "application/json"
	if v.form == Base64CBOR || v.form == CBOREnvelope || v.form == CBORBytes {
		want = "application/cbor"
	}
	have, err := v.envelope.text(keyContentType)
	if errors.Is(err, field.ErrNotFound) {
		return fmt.Errorf("the envelope has no contentType: want %s", want)
	}
	if err == nil && !bytes.Equal(have, []byte(want)) {
		return fmt.Errorf("contentType is %q where the payload is %s", have, want)
	}
	return err
}

// onlyOne refuses a map that one consumer takes for an event, and another one for what is around an event.
func (v *View) onlyOne() error {
	if v.request >= 0 {
		if err := v.reading.open(v.event.doc, v.request); err != nil {
			return err
		}
		if err := v.reading.lacks(keyPayload, keyID, keyDeviceName, keySourceName, keyReadings); err != nil {
			return err
		}
	} else if v.envelope.doc == nil {
		if err := v.event.lacks(keyPayload, keyEvent); err != nil {
			return err
		}
	} else if err := v.event.lacks(keyEvent); err != nil {
		return err
	}
	if v.envelope.doc == nil {
		return nil
	}
	return v.envelope.lacks(keyEvent, keyID, keyDeviceName, keySourceName, keyReadings)
}

// lacks refuses a map that has one of ks.
func (l *level) lacks(ks ...key) error {
	for _, k := range ks {
		if _, found, err := l.find(k); err != nil {
			return err
		} else if found {
			return fmt.Errorf("a map has the key %s beside keys of something else: consumers disagree on what it is", keyNames[k])
		}
	}
	return nil
}

// want refuses a value at k of another kind. It may be missing, or null where it is a container.
func (l *level) want(k key, kind field.Kind) error {
	pos, found, err := l.find(k)
	if err != nil || !found {
		return err
	}
	have, err := l.doc.kind(pos)
	if err == nil && have != kind && (have != field.Null || kind < field.List) {
		err = fmt.Errorf("%s is %v: want %v", keyNames[k], have, kind)
	}
	return err
}
