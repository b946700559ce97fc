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

// strictOptions also refuses keys that differ only in case. EdgeX up to 4.0.2 treats such keys as equal, later versions do not.
var strictOptions = format.Options{FoldKeys: true}

// Validate reads the whole message. It returns nil only if all consumers interpret the message in the same way. Envelope and
// payload must be valid in their formats. Keys must be unique, even if case is ignored. contentType must match the payload.
// Base64 must be undamaged, with canonical padding. Fields that EdgeX defines as text must be text. In JSON the cost grows
// with the number of bytes, in CBOR with the number of items. For byte strings within base64, Validate checks the alphabet but
// does not decode them.
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
		err = cbor.Format{}.Validate(v.data, strictOptions)
	case CBORBytes:
		err = v.validateBytes()
	case JSON, JSONEnvelope:
		err = json.Format{}.Validate(v.data, strictOptions)
	case Base64CBOR, Base64JSON:
		err = v.validateBase64()
	}
	if err == nil {
		err = v.validateFields()
	}
	return err
}

func (v *View) validateBytes() error {
	if err := (cbor.Format{}).Validate(v.data, strictOptions); err != nil {
		return err
	}
	end, err := v.inCBOR.skip(v.envelope.at[keyPayload])
	if err != nil {
		return err
	}
	return inPayload(cbor.Format{}.Validate(v.data[v.start:end], strictOptions))
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
	// The envelope is validated without the payload. The payload needs no check as JSON, because all characters of base64 are
	// valid in a JSON string.
	v.stripped = append(append(v.stripped[:0], v.data[:v.start]...), v.data[end:]...)
	v.removals = append(v.removals[:0], removal{v.start, n})
	if err := (json.Format{}).Validate(v.stripped, strictOptions); err != nil {
		return v.offsetInWhole(err)
	}
	var err error
	if v.pending, err = appendDecoded(v.pending[:0], v.data[end-4:end], 0, 3); err != nil { // decodes the last group, which checks the padding
		return err
	}
	if v.form == Base64JSON {
		return inPayload(json.Format{}.Validate(v.decoded.data, strictOptions))
	}
	if v.envelope.it.value == v.start-1 {
		v.envelope.it.valueEnd = end + 1
	}
	if err := v.stripStrings(v.data[v.start:end]); err != nil {
		return inPayload(err)
	}
	return inPayload(v.offsetInWhole(cbor.Format{}.Validate(v.stripped, strictOptions)))
}

func inPayload(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("in the payload: %w", err)
}

// validateFields checks a well-formed message: the fields that EdgeX defines must have the right kinds, and contentType must
// match the payload.
func (v *View) validateFields() error {
	for _, k := range []key{keyID, keyDeviceName, keyProfileName, keySourceName} {
		if err := v.event.checkKind(k, field.Text); err != nil {
			return err
		}
	}
	if err := v.event.checkKind(keyOrigin, field.Int); err != nil {
		return err
	}
	if err := v.event.checkKind(keyReadings, field.List); err != nil {
		return err
	}
	if err := v.event.checkKind(keyTags, field.Map); err != nil {
		return err
	}
	if err := v.checkUnambiguous(); err != nil || v.envelope.doc == nil {
		return err
	}
	if err := v.envelope.checkKind(keyCorrelationID, field.Text); err != nil {
		return err
	}
	if err := v.envelope.checkKind(keyContentType, field.Text); err != nil {
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

// checkUnambiguous returns an error for a map that consumers could confuse: an event on the one hand, an envelope or request
// on the other.
func (v *View) checkUnambiguous() error {
	if v.request >= 0 {
		if err := v.reading.open(v.event.doc, v.request); err != nil {
			return err
		}
		if err := v.reading.refuseKeys(keyPayload, keyID, keyDeviceName, keySourceName, keyReadings); err != nil {
			return err
		}
	} else if v.envelope.doc == nil {
		if err := v.event.refuseKeys(keyPayload, keyEvent); err != nil {
			return err
		}
	} else if err := v.event.refuseKeys(keyEvent); err != nil {
		return err
	}
	if v.envelope.doc == nil {
		return nil
	}
	return v.envelope.refuseKeys(keyEvent, keyID, keyDeviceName, keySourceName, keyReadings)
}

// refuseKeys returns an error if the map has one of the keys ks.
func (l *mapFields) refuseKeys(ks ...key) error {
	for _, k := range ks {
		if _, found, err := l.find(k); err != nil {
			return err
		} else if found {
			return fmt.Errorf("a map has the key %s beside keys of another kind of message: consumers would read it in different ways", keyNames[k])
		}
	}
	return nil
}

// checkKind returns an error if the value of k has another kind. The value may be missing. A container may be null.
func (l *mapFields) checkKind(k key, kind field.Kind) error {
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
