package edgex

import "example.com/ferry/internal/cborhead"

// assemble collects the planned changes in v.edit.
func (v *View) assemble() error {
	if v.data == nil {
		return errNotOpen
	}
	if v.assembled {
		return nil
	}
	v.edit.Reset(v.data)
	for _, p := range v.outer.parts {
		v.edit.Put(p.off, p.end, p.with)
	}
	switch v.form {
	case Base64CBOR, Base64JSON:
		if err := v.editBase64(); err != nil {
			return err
		}
	case CBORBytes:
		if err := v.updatePayloadLength(); err != nil {
			return err
		}
	}
	v.assembled = true
	return nil
}

// updatePayloadLength adds a change of the payload's length, for a payload that is a byte string.
func (v *View) updatePayloadLength() error {
	pos := v.envelope.at[keyPayload]
	end, err := v.inCBOR.skip(pos)
	if err != nil {
		return err
	}
	if n := v.outer.growth(v.start, end); n != 0 {
		v.edit.PutCopy(pos, v.start, cborhead.Append(nil, cborhead.Bytes, uint64(end-v.start+n)))
	}
	return nil
}

// Changed reports whether changes are planned.
func (v *View) Changed() bool { return len(v.outer.parts)+len(v.inner.parts) > 0 }

// InPlace writes the planned changes into the message itself, if no other byte has to move, as when a UUID replaces a UUID.
// Otherwise it returns false and leaves the message unchanged. In base64 it writes only the groups of characters around a
// change. The cost does not depend on the size of the message. After success no change is planned, and v reads the new message.
func (v *View) InPlace() (bool, error) {
	if err := v.assemble(); err != nil || !v.edit.InPlace() {
		return false, err
	}
	v.outer.reset()
	v.inner.reset()
	v.assembled, v.stale = false, true
	return true, nil
}

// AppendTo appends the message with the planned changes to dst, which must not overlap the message. In base64, if a change
// moves the bytes behind it by a multiple of three, only its own groups are encoded again; otherwise all bytes behind it are.
// The changes stay planned, and v reads the old message, until the next Open.
func (v *View) AppendTo(dst []byte) ([]byte, error) {
	if err := v.assemble(); err != nil {
		return dst, err
	}
	return v.edit.AppendTo(dst), nil
}

// Buffers is AppendTo for net.Buffers: it appends the parts of the message to dst. It does not copy unchanged bytes. The parts
// are valid until another change is planned, or until the next Open.
func (v *View) Buffers(dst [][]byte) ([][]byte, error) {
	if err := v.assemble(); err != nil {
		return dst, err
	}
	return v.edit.Buffers(dst), nil
}

// AppendEvent appends the event to dst, without its AddEventRequest and envelope, and without planned changes. The event is
// JSON in the forms JSON, JSONEnvelope and Base64JSON, and CBOR in the others. AppendEvent reads the event to find its end.
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
