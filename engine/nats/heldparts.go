package nats

import "bytes"

// maxHeld is how many bytes of a snapshot are sent before the engine checks that the server has made the stream. The server makes it
// when it has the first block of the snapshot, which is 1 MiB before compression.
const maxHeld = 4 << 20

// heldParts returns the parts of a snapshot. It keeps them until release, so that they can be sent again.
type heldParts struct {
	source   func() ([]byte, error)
	parts    [][]byte
	position int // index in parts of the next part; len(parts) if it comes from source
	size     int // bytes in parts
	released bool
}

// next returns the next part. Its bytes are valid until the next call.
func (h *heldParts) next() ([]byte, error) {
	if h.position < len(h.parts) {
		h.position++
		return h.parts[h.position-1], nil
	}
	part, err := h.source()
	if err == nil && !h.released {
		h.parts = append(h.parts, bytes.Clone(part))
		h.size += len(part)
		h.position++
	}
	return part, err
}

// full reports whether all that may be kept was returned.
func (h *heldParts) full() bool {
	return h.size >= maxHeld && h.position == len(h.parts) && !h.released
}

// release drops the parts and keeps no others.
func (h *heldParts) release() { h.parts, h.position, h.released = nil, 0, true }

// rewind makes next return the first part again. It returns false after release.
func (h *heldParts) rewind() bool {
	h.position = 0
	return !h.released
}
