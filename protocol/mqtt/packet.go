package mqtt

// MaxPacketSize is the length of the largest packet that the standard allows, in bytes. Section 2.1.4.
const MaxPacketSize = 1 + 4 + maxVarint

// maxVarint is the largest variable byte integer. Section 1.5.5.
const maxVarint = 1<<28 - 1

// Limits says which packets are accepted.
type Limits struct {
	Version    Version // version of the connection; 0 means that no CONNECT has arrived
	FromServer bool    // the sender is a server
	MaxPacket  int     // length of the largest packet in bytes; 0 means MaxPacketSize
}

// Packet is one whole packet. Body is a view of the bytes that were passed to Next.
type Packet struct {
	Kind       Kind
	Flags      byte // the low four bits of the first byte
	Version    Version
	FromServer bool
	Body       []byte // the bytes after the fixed header
	Size       int    // length of the packet in bytes
}

// Next returns the first packet in buf. If it is incomplete, need is the smallest length of buf with which to call Next again.
// Otherwise need is 0, and the next packet begins at offset Size.
//
// A packet that is too large, or that the sender may not send, is an *Error as soon as its first bytes have arrived. After an
// error the connection cannot be resynchronized.
func Next(buf []byte, l Limits) (p Packet, need int, err error) {
	if len(buf) == 0 {
		return p, 2, nil
	}
	p = Packet{Kind: Kind(buf[0] >> 4), Flags: buf[0] & 15, Version: l.Version, FromServer: l.FromServer}
	if e := p.checkHeader(); e != nil {
		return p, 0, e
	}
	if len(buf) < 2 {
		return p, 2, nil
	}
	length, n := int(buf[1]), 1
	if length >= 0x80 {
		var e *Error
		if length, n, e = remainingLength(buf, &p); e != nil {
			return p, 0, e
		}
		if n == 0 {
			return p, len(buf) + 1, nil
		}
	}
	p.Size = 1 + n + length
	if l.MaxPacket > 0 && p.Size > l.MaxPacket {
		return p, 0, violation(p.Kind, PacketTooLarge, "%d bytes: at most %d are accepted here", p.Size, l.MaxPacket)
	}
	if (p.Kind == Pingreq || p.Kind == Pingresp) && length != 0 {
		return p, 0, violation(p.Kind, MalformedPacket, "%d bytes where none are expected", length)
	}
	if len(buf) < p.Size {
		return p, p.Size, nil
	}
	p.Body = buf[1+n : p.Size : p.Size]
	return p, 0, nil
}

// remainingLength reads the variable byte integer at buf[1:]. It returns n 0 if it is incomplete.
func remainingLength(buf []byte, p *Packet) (length, n int, e *Error) {
	length, n = varint(buf[1:])
	switch {
	case n < 0:
		return 0, 0, violation(p.Kind, MalformedPacket, "the remaining length has more than four bytes")
	case n > 1 && buf[n] == 0 && p.Version == V5:
		return 0, 0, violation(p.Kind, MalformedPacket, "the remaining length %d has %d bytes: it must have as few as possible", length, n)
	}
	return length, n, nil
}

// checkHeader checks the first byte.
func (p *Packet) checkHeader() *Error {
	switch {
	case p.Kind == Publish && p.Version != 0:
		switch p.Flags >> 1 {
		case 0, 1, 2, 5, 6: // DUP needs a QoS above 0, which is at most 2
			return nil
		}
		return violation(Publish, MalformedPacket, "flags %04b: QoS is at most 2, and a DUP has QoS 1 or 2", p.Flags)
	case p.Kind == 0, p.Kind == Auth && p.Version == V311:
		return violation(p.Kind, MalformedPacket, "the type is reserved")
	case p.Version == 0 && !p.FromServer && p.Kind != Connect:
		return violation(p.Kind, ProtocolError, "the first packet must be CONNECT: does the peer speak MQTT?")
	case p.Version != 0 && !p.FromServer && p.Kind == Connect:
		return violation(Connect, ProtocolError, "the client is connected: a connection has one CONNECT")
	case p.Kind != Publish && p.Flags != p.Kind.flags():
		return violation(p.Kind, MalformedPacket, "flags %04b: want %04b", p.Flags, p.Kind.flags())
	case p.FromServer && (senders[p.Kind]&byServer == 0 || p.Kind == Disconnect && p.Version == V311):
		return violation(p.Kind, ProtocolError, "servers do not send it")
	case !p.FromServer && senders[p.Kind]&byClient == 0:
		return violation(p.Kind, ProtocolError, "clients do not send it")
	}
	return nil
}

// varint reads a variable byte integer. It returns n 0 if b ends early, and -1 if the integer has more than four bytes.
// Section 1.5.5.
func varint(b []byte) (v, n int) {
	for i, c := range b {
		v |= int(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
		if i == 3 {
			return 0, -1
		}
	}
	return 0, 0
}

func appendVarint(dst []byte, v int) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

func varintSize(v int) int {
	switch {
	case v < 1<<7:
		return 1
	case v < 1<<14:
		return 2
	case v < 1<<21:
		return 3
	}
	return 4
}

// appendHeader appends the fixed header of a packet with length bytes after it.
func appendHeader(dst []byte, k Kind, length int) []byte {
	return appendVarint(append(dst, byte(k)<<4|k.flags()), length)
}
