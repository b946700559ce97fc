package tlslayer

import (
	"bytes"
	"encoding/binary"
)

// Constants of the record layer and of the handshake (RFC 8446, sections 4 and 5.1).
const (
	recordHandshake = 22
	typeClientHello = 1
	recordHead      = 5              // bytes
	messageHead     = 4              // bytes
	maxCiphertext   = 16<<10 + 2<<10 // bytes of a record's payload in TLS 1.2 (RFC 5246, section 6.2.3); TLS 1.3 allows fewer
)

const (
	maxHello    = 16 << 10 // bytes of an incomplete ClientHello after which the handshake begins nevertheless
	helloPieces = 512      // bytes of the payload of each record that splitHello makes
)

// alertUnexpectedMessage is a fatal alert in a record of its own (RFC 8446, section 6.2).
var alertUnexpectedMessage = []byte{21, 3, 1, 0, 2, 2, 10}

// helloArrived reports whether p contains a complete ClientHello. It also returns true if p is malformed or too long: then
// crypto/tls finds the error and sends the alert.
func helloArrived(p []byte) bool {
	if len(p) >= maxHello {
		return true
	}
	var head [messageHead]byte
	for body := 0; len(p) > 0; {
		if p[0] != recordHandshake {
			return true
		}
		if len(p) < recordHead {
			return false
		}
		n := int(binary.BigEndian.Uint16(p[3:]))
		if p[1] != 3 || n == 0 || n > maxCiphertext {
			return true
		}
		payload := p[recordHead:min(recordHead+n, len(p))]
		if body < messageHead {
			copy(head[body:], payload)
		}
		body += len(payload)
		if body > 0 && head[0] != typeClientHello || body >= messageHead && body-messageHead >= messageLen(head[:]) {
			return true
		}
		if len(payload) < n {
			return false
		}
		p = p[recordHead+n:]
	}
	return false
}

// messageLen returns the length in bytes of a handshake message without its head (RFC 8446, section 4).
func messageLen(head []byte) int { return int(head[1])<<16 | int(head[2])<<8 | int(head[3]) }

// splitHello returns a copy of p, in which a first record that is longer than helloPieces is split into several records. A
// tls.Conn keeps a buffer of the size of its longest record as long as it lives. A ClientHello with a key of ML-KEM is longer
// than most requests. TLS allows any division of a handshake message into records.
func splitHello(p []byte) []byte {
	n := 0
	if len(p) >= recordHead {
		n = int(binary.BigEndian.Uint16(p[3:]))
	}
	if n <= helloPieces || len(p) < recordHead+n {
		return bytes.Clone(p)
	}
	pieces := (n + helloPieces - 1) / helloPieces
	out := make([]byte, 0, len(p)+(pieces-1)*recordHead)
	for payload := p[recordHead : recordHead+n]; len(payload) > 0; {
		k := min(len(payload), helloPieces)
		out = append(out, p[0], p[1], p[2])
		out = binary.BigEndian.AppendUint16(out, uint16(k))
		out = append(out, payload[:k]...)
		payload = payload[k:]
	}
	return append(out, p[recordHead+n:]...)
}
