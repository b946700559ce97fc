package websocket

import (
	"crypto/sha1"
	"encoding/base64"
	"strings"
)

// Handshake has the fields of a client's request for a WebSocket, as views. RFC 6455, section 4.2.1.
type Handshake struct {
	Key, Version []byte
	Extensions   []byte // that the client offers
	Protocols    []byte // subprotocols that the client can speak
}

// Field notes a field of the request.
func (h *Handshake) Field(name, value []byte) {
	switch {
	case len(name) < len("Sec-WebSocket-") || !strings.EqualFold(string(name[:14]), "Sec-WebSocket-"):
	case strings.EqualFold(string(name[14:]), "Key"):
		h.Key = value
	case strings.EqualFold(string(name[14:]), "Version"):
		h.Version = value
	case strings.EqualFold(string(name[14:]), "Extensions"):
		h.Extensions = value
	case strings.EqualFold(string(name[14:]), "Protocol"):
		if h.Protocols != nil { // fields with one name are one list: RFC 9110, section 5.3
			value = append(append(append([]byte(nil), h.Protocols...), ','), value...)
		}
		h.Protocols = value
	}
}

// Check returns status and reason of the response to a request that asks for no WebSocket of version 13. The status is 0 for one that does.
func (h *Handshake) Check() (status int, reason string) {
	if string(h.Version) != "13" {
		return 426, "the version of WebSocket is 13"
	}
	if _, ok := Accept(h.Key); !ok {
		return 400, "Sec-WebSocket-Key is missing or malformed"
	}
	return 0, ""
}

// Speaks reports whether the client can speak a subprotocol. RFC 6455, section 4.1.
func (h *Handshake) Speaks(subprotocol string) bool {
	for offer := range strings.SplitSeq(string(h.Protocols), ",") {
		if strings.TrimSpace(offer) == subprotocol {
			return true
		}
	}
	return false
}

// AppendResponse appends the response to a request that Check accepts. extension and subprotocol are those that were chosen; "" means none. RFC 6455, section
// 4.2.2.
func (h *Handshake) AppendResponse(dst []byte, extension, subprotocol string) []byte {
	accept, _ := Accept(h.Key)
	dst = append(append(dst, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "...), accept...)
	if extension != "" {
		dst = append(append(dst, "\r\nSec-WebSocket-Extensions: "...), extension...)
	}
	if subprotocol != "" {
		dst = append(append(dst, "\r\nSec-WebSocket-Protocol: "...), subprotocol...)
	}
	return append(dst, "\r\n\r\n"...)
}

// Accept returns the value of Sec-WebSocket-Accept for that of Sec-WebSocket-Key. ok is false if the key is not one. RFC 6455, section
// 4.2.2.
func Accept(key []byte) (accept string, ok bool) {
	if raw, err := base64.StdEncoding.DecodeString(string(key)); err != nil || len(raw) != 16 {
		return "", false
	}
	sum := sha1.Sum(append(append([]byte(nil), key...), "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"...)) //nolint:gosec // the standard names SHA-1
	return base64.StdEncoding.EncodeToString(sum[:]), true
}
