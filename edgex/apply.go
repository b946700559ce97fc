package edgex

import "example.com/ferry/internal/cborhead"

// seal puts the planned changes together.
func (v *View) seal() error {
	if v.data == nil {
		return errNotOpen
	}
	if v.sealed {
		return nil
	}
	v.edit.Reset(v.data)
	for _, p := range v.outer.parts {
		v.edit.Put(p.off, p.end, p.with)
	}
	switch v.form {
	case Base64CBOR, Base64JSON:
		if err := v.splice(); err != nil {
			return err
		}
	case CBORBytes:
		if err := v.lengthen(); err != nil {
			return err
		}
	}
	v.sealed = true
	return nil
}

// lengthen puts the length of a payload in bytes right.
func (v *View) lengthen() error {
	pos := v.envelope.at[keyPayload]
	end, err := v.inCBOR.skip(pos)
	if err != nil {
		return err
	}
	if n := v.outer.grown(v.start, end); n != 0 {
		v.edit.PutCopy(pos, v.start, cborhead.Append(nil, cborhead.Bytes, uint64(end-v.start+n)))
	}
	return nil
}

// Changed reports whether changes are planned.
func (v *View) Changed() bool { return len(v.outer.parts)+len(v.inner.parts) > 0 }

// InPlace carries the planned changes out in the message itself, if no other byte has to move: a UUID for a UUID. Else it
// returns false and leaves the message untouched. Of base64 only the groups of characters around a change are written.
// The cost does not depend on the size of the message. Changes in place end with it; v reads the message as it is then.
func (v *View) InPlace() (bool, error) {
	if err := v.seal(); err != nil || !v.edit.InPlace() {
		return false, err
	}
	v.outer.reset()
	v.inner.reset()
	v.sealed, v.stale = false, true
	return true, nil
}

// AppendTo appends the message with the planned changes to dst, which must not overlap it. In base64 a change by a
// multiple of three bytes touches its own groups; any other one has all that stands behind it encoded again.
// The changes stay planned, and v reads the message as it was, until the next Open.
func (v *View) AppendTo(dst []byte) ([]byte, error) {
	if err := v.seal(); err != nil {
		return dst, err
	}
	return v.edit.AppendTo(dst), nil
}

// Buffers is AppendTo for net.Buffers: it appends the parts of the message to dst. What did not change is not copied. All
// parts are valid until the next change is planned, or the next Open.
func (v *View) Buffers(dst [][]byte) ([][]byte, error) {
	if err := v.seal(); err != nil {
		return dst, err
	}
	return v.edit.Buffers(dst), nil
}

// AppendEvent appends the event itself, without its AddEventRequest and envelope and without planned changes, to dst. It
// is in JSON in the forms JSON, JSONEnvelope and Base64JSON, in CBOR in the others. The event is passed to find its end.
func (v *View) AppendEvent(dst []byte) ([]byte, error) {
	if err := v.ready(); err != nil {
		return dst, err
	}
	pos := v.event.it.head
	end, err := v.event.doc.skip(pos)
	if err != nil {
		return dst, err
	}
	switch v.form {
	case Base64CBOR:
		return appendDecoded(dst, v.data[v.start:], pos, end)
	case Base64JSON:
		return append(dst, v.buf[pos:end]...), nil
	}
	return append(dst, v.data[pos:end]...), nil
}
