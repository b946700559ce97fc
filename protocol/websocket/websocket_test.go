package websocket_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/ferry/protocol/websocket"
)

// A server reads the frames of a client. These are the examples of RFC 6455, section 5.7.
func Example() {
	buf, _ := hex.DecodeString("818537fa213d7f9f4d5158")
	n, f, err := websocket.Next(buf, 1<<20)
	fmt.Println(n, f.Opcode == websocket.Text, f.Final, string(f.Payload), err)
	fmt.Printf("%x\n", websocket.AppendFrame(nil, websocket.Text, []byte("Hello")))
	// Output:
	// 11 true true Hello <nil>
	// 810548656c6c6f
}

// The handshake of RFC 6455, section 1.3.
func ExampleAccept() {
	fmt.Println(websocket.Accept([]byte("dGhlIHNhbXBsZSBub25jZQ==")))
	// Output: s3pPLMBiTxaQ9kYGzzhZRbK+xOo= true
}

// masked returns a frame of a client.
func masked(first byte, payload []byte) []byte {
	f := websocket.AppendFrame(nil, websocket.Opcode(first&15), payload)
	head := len(f) - len(payload)
	f[0] = first
	f[1] |= 0x80
	mask := []byte{1, 2, 3, 4}
	out := append(append([]byte(nil), f[:head]...), mask...)
	for i, c := range payload {
		out = append(out, c^mask[i%4])
	}
	return out
}

func TestNextCutAtEachByte(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 125, 126, 300, 65535, 65536} {
		payload := bytes.Repeat([]byte("x"), size)
		whole := masked(0x82, payload)
		for cut := 0; cut < len(whole); cut += 1 + cut/64*13 {
			if n, _, err := websocket.Next(bytes.Clone(whole[:cut]), 1<<20); n != 0 || err != nil {
				t.Fatalf("%d of %d bytes: %d, %v", cut, len(whole), n, err)
			}
		}
		n, f, err := websocket.Next(append(whole, 0x81), 1<<20)
		if n != len(whole) || err != nil || !bytes.Equal(f.Payload, payload) {
			t.Errorf("%d bytes: got %d of %d, %v", size, n, len(whole), err)
		}
	}
}

func TestNextRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		frame string
		code  websocket.Code
	}{
		"no mask":            {"\x81\x00", websocket.ProtocolError},
		"reserved bit":       {"\xa1\x80", websocket.ProtocolError},
		"opcode 3":           {"\x83\x80", websocket.ProtocolError},
		"opcode 11":          {"\x8b\x80", websocket.ProtocolError},
		"fragmented ping":    {"\x09\x80", websocket.ProtocolError},
		"long pong":          {"\x8a\xfe", websocket.ProtocolError},
		"compressed close":   {"\xc8\x80", websocket.ProtocolError},
		"compressed rest":    {"\xc0\x80", websocket.ProtocolError},
		"length 16, short":   {"\x82\xfe\x00\x7d", websocket.ProtocolError},
		"length 64, short":   {"\x82\xff\x00\x00\x00\x00\x00\x00\xff\xff", websocket.ProtocolError},
		"length 64, too big": {"\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00", websocket.ProtocolError},
		"too large":          {"\x82\xfe\x04\x01", websocket.TooLarge},
	} {
		_, _, err := websocket.Next([]byte(c.frame), 1024)
		var e *websocket.Error
		if !errors.As(err, &e) || e.Code != c.code {
			t.Errorf("%s: %v, want %d", name, err, c.code)
		}
	}
}

func TestCloseCode(t *testing.T) {
	for payload, want := range map[string]websocket.Code{"": 1005, "\x03\xe8": 1000, "\x03\xe8bye": 1000, "\x0b\xb8": 3000} {
		if c, err := websocket.CloseCode([]byte(payload)); c != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", payload, c, err, want)
		}
	}
	for _, payload := range []string{"\x03", "\x03\xe7", "\x03\xed", "\x03\xf7", "\x13\x88", "\x03\xe8\xff"} {
		if c, err := websocket.CloseCode([]byte(payload)); err == nil {
			t.Errorf("%q: accepted as %d", payload, c)
		}
	}
	if f := websocket.AppendClose(nil, websocket.Normal, strings.Repeat("é", 100)); len(f) > 127 || websocket.Code(uint16(f[2])<<8|uint16(f[3])) != websocket.Normal {
		t.Errorf("Close has %d bytes", len(f))
	}
}

func TestNegotiate(t *testing.T) {
	for offers, want := range map[string]bool{
		"": false, "x-webkit-deflate-frame": false,
		"permessage-deflate":                                                         true,
		"permessage-deflate; client_max_window_bits":                                 true,
		"permessage-deflate; client_max_window_bits=10":                              true,
		"permessage-deflate; server_max_window_bits=10":                              false,
		"permessage-deflate; server_max_window_bits=10, permessage-deflate":          true,
		`permessage-deflate; server_max_window_bits="15"`:                            true,
		"permessage-deflate; client_max_window_bits=16":                              false,
		"permessage-deflate; unknown":                                                false,
		"permessage-deflate; server_no_context_takeover=1":                           false,
		"permessage-deflate; client_max_window_bits; client_max_window_bits":         false,
		"permessage-deflate; server_no_context_takeover; client_no_context_takeover": true,
	} {
		if got := websocket.Negotiate(offers); got != want {
			t.Errorf("%q: %v, want %v", offers, got, want)
		}
	}
}

func TestDeflate(t *testing.T) {
	for _, message := range []string{"", "Hello", strings.Repeat("all the same ", 5000)} {
		f := websocket.AppendDeflated(nil, websocket.Text, []byte(message))
		if f[0] != 0xc1 {
			t.Errorf("the first byte is %#x", f[0])
		}
		head := 2
		switch f[1] {
		case 126:
			head = 4
		case 127:
			head = 10
		}
		got, err := websocket.AppendInflated([]byte("before "), f[head:], len(message))
		if err != nil || string(got) != "before "+message {
			t.Errorf("%.20q: got %.40q, %v", message, got, err)
		}
		if len(message) > 0 {
			var e *websocket.Error
			if _, err = websocket.AppendInflated(nil, f[head:], len(message)-1); !errors.As(err, &e) || e.Code != websocket.TooLarge {
				t.Errorf("%.20q above the limit: %v", message, err)
			}
		}
	}
	hello, _ := hex.DecodeString("f248cdc9c90700") // RFC 7692, section 7.2.3.1
	if got, err := websocket.AppendInflated(nil, hello, 100); string(got) != "Hello" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := websocket.AppendInflated(nil, []byte("\xff\xff\xff"), 100); err == nil {
		t.Error("what is not compressed is accepted")
	}
}

func FuzzNext(f *testing.F) {
	f.Add(masked(0x81, []byte("Hello")))
	f.Add(masked(0xc2, bytes.Repeat([]byte("x"), 300)))
	f.Add([]byte("\x88\x80\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, p []byte) {
		before := bytes.Clone(p)
		n, frame, err := websocket.Next(p, 1<<10)
		switch {
		case n > len(p) || len(frame.Payload) > 1<<10:
			t.Errorf("%d of %d bytes, a payload of %d", n, len(p), len(frame.Payload))
		case n == 0 && !bytes.Equal(p, before):
			t.Error("a frame that is not whole was changed")
		case n > 0 && err != nil:
			t.Errorf("a frame and %v", err)
		}
		if err == nil && n > 0 {
			_, _ = websocket.AppendInflated(nil, frame.Payload, 1<<16)
			_, _ = websocket.CloseCode(frame.Payload)
		}
	})
}
