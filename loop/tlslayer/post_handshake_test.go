package tlslayer

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"example.com/ferry/loop"
)

// sealer makes the records of a client of TLS 1.3 with TLS_AES_128_GCM_SHA256 (RFC 8446, section 5.2).
type sealer struct {
	aead    cipher.AEAD
	iv      []byte
	number  uint64 // of the next record
	updated []byte // traffic secret after a key update
}

// newSealer derives the keys from a traffic secret (RFC 8446, section 7.3).
func newSealer(t *testing.T, secret []byte) *sealer {
	t.Helper()
	expand := func(label string, n int) []byte {
		label = "tls13 " + label
		info := append([]byte{0, byte(n), byte(len(label))}, label...)
		out, err := hkdf.Expand(sha256.New, secret, string(append(info, 0)), n)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	block, err := aes.NewCipher(expand("key", 16))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	return &sealer{aead: aead, iv: expand("iv", 12), updated: expand("traffic upd", sha256.Size)}
}

func (s *sealer) record(kind byte, payload []byte) []byte {
	head := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(payload)+1+s.aead.Overhead()))
	nonce := bytes.Clone(s.iv)
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^s.number)
	s.number++
	return s.aead.Seal(head, nonce, append(bytes.Clone(payload), kind), head)
}

// TestLongPostHandshakeMessage: a client that sends a part of a long handshake message after the handshake is refused. The
// tls.Conn would store 64 KiB of it.
func TestLongPostHandshakeMessage(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	var keys bytes.Buffer
	client.MinVersion, client.KeyLogWriter = tls.VersionTLS13, &keys
	r := newRig(t, &loop.Config{Loops: 1}, nil, server)
	conn := tls.Client(r.dial(t), client)
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	if conn.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		return // crypto/tls prefers ChaCha20 on a processor without instructions for AES
	}
	_, line, _ := strings.Cut(keys.String(), "CLIENT_TRAFFIC_SECRET_0 ")
	words := strings.Fields(line)
	secret, err := hex.DecodeString(words[1])
	if err != nil {
		t.Fatal(err)
	}
	s := newSealer(t, secret)
	send := func(records ...[]byte) {
		t.Helper()
		if _, err := conn.NetConn().Write(bytes.Join(records, nil)); err != nil {
			t.Fatal(err)
		}
	}
	echoed := func() {
		t.Helper()
		if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
	}
	send(s.record(23, []byte("data")), s.record(recordHandshake, []byte{24, 0, 0, 1})) // most of a key update (RFC 8446, section 4.6.3)
	echoed()
	last := s.record(recordHandshake, []byte{0})
	s = newSealer(t, s.updated)
	send(last, s.record(23, []byte("data")))
	echoed()
	send(s.record(recordHandshake, append([]byte{24, 0, 0xff, 0xff}, make([]byte, 8000)...)))
	if err := r.wantClosed(t); err == nil || !strings.Contains(err.Error(), "handshake message") {
		t.Errorf("Closed with %v", err)
	}
}
