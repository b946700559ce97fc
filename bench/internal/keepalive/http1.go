package keepalive

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// http1 encodes and checks POST requests with a body, and 200 responses with a body.
type http1 struct {
	post  []byte // a request, head and body
	body  []byte
	reply []byte // a response
	at    int    // offset of the body

	judged []byte // the last valid head; an identical head is not parsed again
	length int    // content length in the judged head
}

const maxHead = 8 << 10

func newHTTP1(size int) *http1 {
	const fields = "Content-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n"
	w := &http1{
		post:  fmt.Appendf(nil, "POST /orders/1234 HTTP/1.1\r\nHost: orders.example\r\nUser-Agent: bench\r\nAccept: */*\r\n"+fields, size),
		reply: fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: bench\r\n"+fields, size),
	}
	w.at = len(w.reply)
	w.reply = append(w.reply, newBody(size)...)
	w.post = append(w.post, newBody(size)...)
	w.body = w.post[len(w.post)-size:]
	return w
}

func (w *http1) request(id uint64) []byte {
	mark(w.body, id)
	return w.post
}

func (w *http1) checkResponse(in []byte, id uint64) (int, error) {
	head, body, n, err := w.split(in)
	if n == 0 || err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
		return 0, fmt.Errorf("response %q: want status 200", clip(in))
	}
	mark(w.body, id)
	return n, checkBody(body, w.body)
}

func (w *http1) respond(dst, in []byte) ([]byte, int, error) {
	head, body, n, err := w.split(in)
	if n == 0 || err != nil {
		return dst, 0, err
	}
	if !bytes.HasPrefix(head, []byte("POST /orders/1234 HTTP/1.1\r\n")) {
		return dst, 0, fmt.Errorf("request %q: want POST /orders/1234 HTTP/1.1", clip(in))
	}
	if len(body) != len(w.body) {
		return dst, 0, fmt.Errorf("a body of %d bytes: want %d", len(body), len(w.body))
	}
	if err := checkBody(body[markLen:], w.body[markLen:]); err != nil {
		return dst, 0, err
	}
	copy(w.reply[w.at:], body[:markLen])
	return append(dst, w.reply...), n, nil
}

// split finds head and body of the first message in in. n is the length of the message, or 0 if the message is incomplete.
func (w *http1) split(in []byte) (head, body []byte, n int, err error) {
	end := bytes.Index(in, []byte("\r\n\r\n"))
	if end < 0 {
		if len(in) > maxHead {
			return nil, nil, 0, fmt.Errorf("a head of more than %d bytes: %q", maxHead, clip(in))
		}
		return nil, nil, 0, nil
	}
	head = in[:end+2]
	if !bytes.Equal(head, w.judged) {
		if w.length, err = contentLength(head); err != nil {
			return nil, nil, 0, err
		}
		w.judged = append(w.judged[:0], head...)
	}
	n = end + 4 + w.length
	if len(in) < n {
		return nil, nil, 0, nil
	}
	return head, in[end+4 : n], n, nil
}

// contentLength returns the value of the Content-Length field. A missing field is an error: this package uses no chunked bodies.
func contentLength(head []byte) (int, error) {
	_, fields, _ := bytes.Cut(head, []byte("\r\n"))
	for line := range bytes.SplitSeq(fields, []byte("\r\n")) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(name, []byte("Content-Length")) {
			n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 31)
			if err != nil {
				return 0, fmt.Errorf("Content-Length %q", value)
			}
			return int(n), nil
		}
	}
	return 0, errors.New("a head without Content-Length")
}
