package mqtt

import (
	"encoding/binary"
	"unicode/utf8"
)

// MaxText is the longest string and the longest binary data, in bytes. Section 1.5.4.
const MaxText = 65535

// CheckText returns an *Error if s cannot be an UTF-8 string of MQTT: it is too long, is not UTF-8 or contains U+0000.
// Section 1.5.4.
func CheckText[T string | []byte](s T) error {
	if e := checkText(s); e != nil {
		return e
	}
	return nil
}

func checkText[T string | []byte](s T) *Error {
	if len(s) > MaxText {
		return &Error{Code: MalformedPacket, Reason: "the string has more than 65535 bytes"}
	}
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			return &Error{Code: MalformedPacket, Reason: "the string contains U+0000"}
		}
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if !ascii && !validUTF8(s) {
		return &Error{Code: MalformedPacket, Reason: "the string is not UTF-8"}
	}
	return nil
}

func validUTF8[T string | []byte](s T) bool {
	switch s := any(s).(type) {
	case string:
		return utf8.ValidString(s)
	case []byte:
		return utf8.Valid(s)
	}
	return false
}

// appendPrefixed appends the length of s in two bytes, and then s, which has at most MaxText bytes.
func appendPrefixed[T string | []byte](dst []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
}

// bodyReader reads the parts of a packet's body. After the first violation, which is err, it returns zero values.
type bodyReader struct {
	b    []byte
	kind Kind
	err  *Error
}

func (r *bodyReader) fail(code ReasonCode, format string, args ...any) {
	if r.err == nil {
		r.err = violation(r.kind, code, format, args...)
	}
	r.b = nil
}

func (r *bodyReader) u8(what string) byte {
	if len(r.b) < 1 {
		r.fail(MalformedPacket, "the packet ends before the %s", what)
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *bodyReader) u16(what string) uint16 {
	if len(r.b) < 2 {
		r.fail(MalformedPacket, "the packet ends before the %s", what)
		return 0
	}
	v := binary.BigEndian.Uint16(r.b)
	r.b = r.b[2:]
	return v
}

// id reads a packet identifier, which is not 0. Section 2.2.1.
func (r *bodyReader) id() uint16 {
	v := r.u16("packet identifier")
	if v == 0 && r.err == nil {
		r.fail(ProtocolError, "the packet identifier is 0")
	}
	return v
}

// binary reads binary data. It does not return nil unless it fails.
func (r *bodyReader) binary(what string) []byte {
	v, n := lengthPrefixed(r.b)
	if n == 0 {
		r.fail(MalformedPacket, "the packet ends within the %s", what)
		return nil
	}
	r.b = r.b[n:]
	return v
}

// text reads an UTF-8 string. It does not return nil unless it fails.
func (r *bodyReader) text(what string) []byte {
	v := r.binary(what)
	if e := checkText(v); e != nil {
		r.fail(MalformedPacket, "%s: %s", what, e.Reason)
		return nil
	}
	return v
}

// properties reads the length of the properties and the properties. in is the bit of the packet's kind, or inWill.
func (r *bodyReader) properties(in uint16, fromServer bool) (Properties, propertySet) {
	length, n := varint(r.b)
	switch {
	case n < 0:
		r.fail(MalformedPacket, "the length of the properties has more than four bytes")
	case n == 0 || n+length > len(r.b):
		r.fail(MalformedPacket, "the packet ends within its properties")
	case n != varintSize(length):
		r.fail(MalformedPacket, "the length of the properties, %d, has %d bytes: it must have as few as possible", length, n)
	case length == 0:
		r.b = r.b[n:]
	default:
		ps := Properties(r.b[n : n+length : n+length])
		seen, e := ps.check(r.kind, in, fromServer)
		if e != nil {
			r.err, r.b = e, nil
			return nil, 0
		}
		r.b = r.b[n+length:]
		return ps, seen
	}
	return nil, 0
}

// end returns the first violation. Bytes that were not read are one.
func (r *bodyReader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail(MalformedPacket, "%d bytes follow the packet's last field", len(r.b))
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

func appendProperties(dst []byte, ps Properties) []byte {
	return append(appendVarint(dst, len(ps)), ps...)
}

// propertiesSize returns the number of bytes that appendProperties appends.
func propertiesSize(ps Properties) int { return varintSize(len(ps)) + len(ps) }
