package edgex

import "example.com/ferry/internal/cborhead"

// assemble collects the planned changes of all parts of the message in v.edit.
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

// updatePayloadLength plans the new length of a payload that is a byte string.
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

// InPlace writes the planned changes into the message itself. It does so only if no other byte has to move, as when a UUID
// replaces a UUID. Otherwise it returns false and leaves the message unchanged. In base64 it writes only the groups of
// characters that a change touches. The cost does not depend on the size of the message. After success no change is planned,
// and v reads the new message.
func (v *View) InPlace() (bool, error) {
	if err := v.assemble(); err != nil || !v.edit.InPlace() {
		return false, err
	}
	v.outer.reset()
	v.inner.reset()
	v.assembled, v.stale = false, true
	return true, nil
}

// AppendTo appends the message with the planned changes to dst. dst must not overlap the message. In base64, a change that
// moves the bytes after it by a multiple of three is cheap: only the groups that it touches are encoded again. Any other
// change encodes all bytes after it again. The changes stay planned, and v reads the old message, until the next Open.
func (v *View) AppendTo(dst []byte) ([]byte, error) {
	if err := v.assemble(); err != nil {
		return dst, err
	}
	return v.edit.AppendTo(dst), nil
}

// Buffers is AppendTo for net.Buffers: it appends the parts of the message to dst and does not copy unchanged bytes. The parts
// are valid until the next change is planned or until the next Open.
func (v *View) Buffers(dst [][]byte) ([][]byte, error) {
	if err := v.assemble(); err != nil {
		return dst, err
	}
	return v.edit.Buffers(dst), nil
}

// AppendEvent appends the event to dst, without its AddEventRequest, its envelope and the planned changes. The event is JSON
// in the forms JSON, JSONEnvelope and Base64JSON, and CBOR in the other forms. AppendEvent reads the whole event, because it
// must find the end.
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
