package edgex

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/internal/cborhead"
	"example.com/ferry/internal/transcode"
)

// Convert appends the message in another form to dst, without planned changes. The message must be valid. Convert copies the
// parts that are already in the target format. It translates the other parts without decoding them into Go values. A
// binaryValue is bytes in CBOR and base64 text in JSON; other bytes, and tags, have no form in JSON. The forms CBOR and JSON have no envelope, so Convert discards it. It
// cannot add one: a message without an envelope cannot be converted to a form with an envelope. A value that the target format
// cannot represent exactly is an error. On any error Convert returns dst unchanged.
func (v *View) Convert(dst []byte, to Form) ([]byte, error) {
	out, err := v.convert(dst, to)
	if err != nil {
		return dst, fmt.Errorf("edgex: %s to %s: %w", v.form, to, err)
	}
	return out, nil
}

func (v *View) convert(dst []byte, to Form) ([]byte, error) {
	if err := v.ready(); err != nil {
		return nil, err
	}
	if to < CBOR || to > CBORBytes {
		return nil, errors.New("no such form")
	}
	bare := to == CBOR || to == JSON
	if v.envelope.doc == nil && !bare {
		return nil, errors.New("the message has no envelope")
	}
	event, err := v.appendPayload(nil)
	if err == nil {
		event, err = translate(event, v.form.inJSON(), to.inJSON(), true)
	}
	if err == nil && v.form.inJSON() && !to.inJSON() {
		event, err = decodeBinaryValues(event)
	}
	if err != nil || bare {
		return append(dst, event...), err
	}
	return v.wrap(dst, event, to)
}

// inJSON reports whether the event is in JSON.
func (f Form) inJSON() bool { return f == JSON || f == JSONEnvelope || f == Base64JSON }

// envelopeInJSON reports whether the envelope is in JSON.
func (f Form) envelopeInJSON() bool { return f == JSONEnvelope || f == Base64JSON || f == Base64CBOR }

// appendPayload appends the payload of the envelope, decoded from base64. It appends the whole message if there is no
// envelope.
func (v *View) appendPayload(dst []byte) ([]byte, error) {
	if v.envelope.doc == nil {
		return append(dst, v.data...), nil
	}
	if v.form == Base64JSON {
		return append(dst, v.decoded.data...), nil
	}
	start := v.envelope.at[keyPayload]
	end, err := v.envelope.doc.skip(start)
	switch {
	case err != nil:
		return dst, err
	case v.form == Base64CBOR:
		text := v.data[v.start : end-1]
		return appendDecoded(dst, text, 0, decodedLen(text))
	case v.form == CBORBytes:
		start = v.start
	}
	return append(dst, v.data[start:end]...), nil
}

// noteBytes is the note of package transcode for bytes that became text.
const noteBytes = "bytes became base64 text"

// translate translates data, an event or an envelope, from one format to the other. It returns data itself if the formats
// are equal.
func translate(data []byte, fromJSON, toJSON, isEvent bool) ([]byte, error) {
	var from, to format.Format = cbor.Format{}, json.Format{}
	switch {
	case fromJSON == toJSON:
		return data, nil
	case fromJSON:
		from, to = to, from
	}
	out, notes, err := transcode.Message(nil, data, from, to)
	var lost []string
	for _, n := range notes {
		if n == noteBytes && isEvent { // EdgeX converts each binaryValue to base64 text, too
			if n = otherBytes(data); n == "" {
				continue
			}
		}
		lost = append(lost, n)
	}
	if len(lost) > 0 && err == nil {
		err = errors.New("in the other format this would be lost: " + strings.Join(lost, ", "))
	}
	return out, err
}

// otherBytes returns what becomes of bytes outside of a binaryValue in an event in CBOR, or "" if there are none. The base64
// text of such bytes could not be told from text.
func otherBytes(event []byte) (lost string) {
	var names []string // of the values around the current one
	_ = cbor.Format{}.Walk(event, func(step field.Step, depth int, s field.Span) error {
		names = append(names[:depth], step.String())
		if s.Kind != field.Bytes || lost != "" {
			return nil
		}
		if _, isNumber := (cbor.Format{}).Number(event, s); !isNumber && !isBinaryValue(names[1:]) {
			lost = "the bytes of " + strings.Join(names[1:], ".")
		}
		return nil
	})
	return lost
}

// isBinaryValue reports whether names leads to the binaryValue of a reading. An AddEventRequest has the event as a field.
func isBinaryValue(names []string) bool {
	if len(names) == 4 && names[0] == "event" {
		names = names[1:]
	}
	return len(names) == 3 && names[0] == keyNames[keyReadings] && names[2] == keyNames[keyBinaryValue]
}

// decodeBinaryValues replaces the base64 text of each binaryValue by its bytes, in an event in CBOR.
func decodeBinaryValues(event []byte) ([]byte, error) {
	var v View
	if err := v.Open(event, len(event)); err != nil {
		return nil, err
	}
	err := v.eachReading(func(*iterator) error {
		pos, found, err := v.reading.find(keyBinaryValue)
		if err != nil || !found {
			return err
		}
		if kind, err := v.inCBOR.kind(pos); kind != field.Text || err != nil {
			return err
		}
		text, err := v.inCBOR.text(pos)
		if err != nil {
			return err
		}
		value := make([]byte, 9, 9+base64.StdEncoding.DecodedLen(len(text)))
		if value, err = base64.StdEncoding.AppendDecode(value, text); err != nil {
			return fmt.Errorf("binaryValue: %w", err)
		}
		head := cborhead.Append(nil, cborhead.Bytes, uint64(len(value)-9))
		copy(value[9-len(head):], head)
		end, err := v.inCBOR.skip(pos)
		if err != nil {
			return err
		}
		return v.outer.put(pos, end, value[9-len(head):])
	})
	if err != nil {
		return nil, err
	}
	return v.AppendTo(nil)
}

// wrap appends the envelope in form to, and puts event into it as the payload.
func (v *View) wrap(dst, event []byte, to Form) ([]byte, error) {
	// The envelope is translated with null as its payload.
	nothing := []byte("null")
	if !v.form.envelopeInJSON() {
		nothing = []byte{cborhead.Null}
	}
	empty, err := v.envelope.withValue(v.data, keyPayload, nothing)
	if err == nil {
		empty, err = translate(empty, v.form.envelopeInJSON(), to.envelopeInJSON(), false)
	}
	if err != nil {
		return nil, err
	}
	var doc document = &cborDocument{window{bytes: empty}}
	if to.envelopeInJSON() {
		doc = &jsonDocument{empty}
	}
	contentType := "application/cbor"
	if to.inJSON() {
		contentType = "application/json"
	}
	switch to {
	case Base64CBOR, Base64JSON:
		event = append(base64.StdEncoding.AppendEncode([]byte{'"'}, event), '"')
	case CBORBytes:
		event = append(cborhead.Append(nil, cborhead.Bytes, uint64(len(event))), event...)
	}
	var around mapFields
	if err := around.open(doc, 0); err != nil {
		return nil, err
	}
	var e format.Edit
	e.Reset(empty)
	for _, c := range []struct {
		key  key
		with []byte
	}{{keyPayload, event}, {keyContentType, doc.appendText(nil, contentType)}} {
		pos, end, err := around.span(c.key)
		if err != nil {
			return nil, err
		}
		e.Put(pos, end, c.with)
	}
	return e.AppendTo(dst), nil
}

// withValue returns a copy of data with another value at k. l must be open on data.
func (l *mapFields) withValue(data []byte, k key, with []byte) ([]byte, error) {
	pos, end, err := l.span(k)
	if err != nil {
		return nil, err
	}
	return slices.Concat(data[:pos], with, data[end:]), nil
}

// span returns the offsets at which the value at k starts and ends.
func (l *mapFields) span(k key) (pos, end int, err error) {
	pos, found, err := l.find(k)
	if err == nil && !found {
		err = field.ErrNotFound
	}
	if err == nil {
		end, err = l.doc.skip(pos)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", keyNames[k], err)
	}
	return pos, end, nil
}
