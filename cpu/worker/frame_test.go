package worker

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/ferry"
)

func everyFrame() []byte {
	b := helloFrame(1000)
	b = appendMessage(b, &ferry.Message{Tag: "a/b", Type: ferry.JSON, Source: 1, To: 2, Time: 3, Payload: []byte("{}")})
	b = appendMessage(b, &ferry.Message{})
	b = append(b, cancelFrame(1<<63)...)
	b = appendEnd(b, 1, done, "")
	return appendEnd(b, 1, panicked, "why")
}

// However the stream is cut in two, the reader returns the same frames. A stream that ends early gives io.ErrUnexpectedEOF or
// io.EOF.
func TestReaderAtEachCut(t *testing.T) {
	all := everyFrame()
	ends := map[int]bool{0: true}
	whole := &frameReader{r: iotest.OneByteReader(bytes.NewReader(all)), max: 1000}
	at := 0
	for range 6 {
		_, body, err := whole.next()
		if err != nil {
			t.Fatal(err)
		}
		at += prefixSize + 1 + len(body)
		ends[at] = true
	}
	if at != len(all) {
		t.Fatalf("6 frames have %d bytes, want %d", at, len(all))
	}
	for n := range all {
		r := &frameReader{r: bytes.NewReader(all[:n]), max: 1000}
		var err error
		for err == nil {
			_, _, err = r.next()
		}
		want := io.ErrUnexpectedEOF
		if ends[n] {
			want = io.EOF
		}
		if !errors.Is(err, want) {
			t.Errorf("after %d bytes: %v, want %v", n, err, want)
		}
	}
}

// A length without a body allocates no memory for the body.
func TestReaderTrustsNoLength(t *testing.T) {
	r := &frameReader{r: bytes.NewReader([]byte{0, 0, 0, 0x3f, byte(message), 1, 2, 3}), max: 1 << 30}
	if _, _, err := r.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("next = %v, want io.ErrUnexpectedEOF", err)
	}
	if cap(r.buf) > minBuffer {
		t.Errorf("a buffer of %d bytes for 8 that came", cap(r.buf))
	}
}

func TestReaderLetsLargeBuffersGo(t *testing.T) {
	large := appendMessage(nil, &ferry.Message{Payload: make([]byte, keepBuffer)})
	r := &frameReader{r: bytes.NewReader(append(large, appendEnd(nil, 1, done, "")...)), max: len(large)}
	if k, body, err := r.next(); k != message || len(body) != messageHead+keepBuffer || err != nil {
		t.Fatalf("next = %d, %d bytes, %v", k, len(body), err)
	}
	if k, _, err := r.next(); k != end || err != nil {
		t.Fatalf("next = %d, %v, want an end", k, err)
	}
	if cap(r.buf) > keepBuffer {
		t.Errorf("a buffer of %d bytes is kept, want at most %d", cap(r.buf), keepBuffer)
	}
}

func TestTextOfAnEndIsCut(t *testing.T) {
	r := &frameReader{r: bytes.NewReader(appendEnd(nil, 1, failed, strings.Repeat("x", 1<<20))), max: maxFrame(0)}
	_, body, err := r.next()
	if err != nil {
		t.Fatal(err)
	}
	number, handled, err := parseEnd(body)
	var h *HandlerError
	if err != nil || number != 1 || !errors.As(handled, &h) || len(h.Text) != maxText {
		t.Errorf("parseEnd = %v, %v, want a text of %d bytes", handled, err, maxText)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(everyFrame())
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1000
		r := &frameReader{r: bytes.NewReader(data), max: limit}
		slow := &frameReader{r: iotest.OneByteReader(bytes.NewReader(data)), max: limit}
		var again []byte
		for {
			k, body, err := r.next()
			k2, body2, err2 := slow.next()
			if k != k2 || !bytes.Equal(body, body2) || text(err) != text(err2) {
				t.Fatalf("read at once: %d, %x, %v; byte by byte: %d, %x, %v", k, body, err, k2, body2, err2)
			}
			if err != nil {
				break
			}
			whole := append(beginFrame(nil, k), body...)
			again = append(again, closeFrame(whole, 0)...)
			parsed(t, k, body)
		}
		if !bytes.HasPrefix(data, again) {
			t.Fatalf("the frames read are %x, want a beginning of %x", again, data)
		}
	})
}

// parsed checks that a parsed frame is encoded to the same bytes again.
func parsed(t *testing.T, k kind, body []byte) {
	t.Helper()
	var again []byte
	switch k {
	case hello:
		n, err := parseHello(body)
		if err != nil {
			return
		}
		again = helloFrame(n)
	case message:
		m, err := parseMessage(body, "last")
		if err != nil {
			return
		}
		again = appendMessage(nil, &m)
	case end:
		number, handled, err := parseEnd(body)
		if err != nil {
			return
		}
		var h *HandlerError
		if !errors.As(handled, &h) {
			again = appendEnd(nil, number, done, string(body[9:]))
		} else {
			again = appendEnd(nil, number, status(body[8]), h.Text)
		}
	case cancel:
		n, err := parseCancel(body)
		if err != nil {
			return
		}
		again = cancelFrame(n)
	default:
		return
	}
	if !bytes.Equal(again[prefixSize+1:], body) {
		t.Fatalf("kind %d: written again %x, want %x", k, again[prefixSize+1:], body)
	}
}
