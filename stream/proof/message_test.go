//go:build linux

package proof

import (
	"fmt"
	"hash/crc32"
	"strings"

	"example.com/ferry"
)

// newMessage returns message number n of a key, on the tag orders/KEY. Its payload repeats both, and has a checksum. Its ID prevents
// that it is stored twice if the publisher sends it again because an acknowledgement was lost.
func newMessage(key string, n uint64, size int) ferry.Message {
	text := fmt.Sprintf("%s %d ", key, n)
	text += strings.Repeat(".", max(0, size-len(text)-9))
	return ferry.Message{Tag: "orders/" + key, Key: []byte(key), ID: fmt.Sprint(key, "-", n), Payload: fmt.Appendf(nil, "%s %08x", text, crc32.ChecksumIEEE([]byte(text)))}
}

// parseMessage returns the key and the number of a message that newMessage has made. An error means that the message was changed on
// its way.
func parseMessage(m *ferry.Message) (key string, n uint64, err error) {
	p := string(m.Payload)
	at := len(p) - 9
	if at < 0 {
		return "", 0, fmt.Errorf("payload %.40q is too short", p)
	}
	text := p[:at]
	if want := fmt.Sprintf(" %08x", crc32.ChecksumIEEE([]byte(text))); p[at:] != want {
		return "", 0, fmt.Errorf("payload %.40q of %d bytes has checksum %q, want %q", p, len(p), p[at:], want)
	}
	if _, err := fmt.Sscanf(text, "%s %d ", &key, &n); err != nil {
		return "", 0, fmt.Errorf("payload %.40q: %w", p, err)
	}
	if m.Tag != "orders/"+key || string(m.Key) != key {
		return "", 0, fmt.Errorf("message %d of key %q has tag %q and key %q", n, key, m.Tag, m.Key)
	}
	return key, n, nil
}
