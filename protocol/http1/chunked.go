package http1

import (
	"bytes"
	"fmt"
	"math"

	"example.com/ferry/protocol/httprule"
)

// chunkState says which element of a chunked body follows. RFC 9112, section 7.1.
type chunkState uint8

const (
	atSize chunkState = iota
	atContent
	atContentEnd
	atTrailer
	atBodyEnd
)

const maxSizeDigits = 16

// nextChunked is Next for a chunked body. It consumes only complete lines.
func (b *Body) nextChunked(data []byte) (int, Part, error) {
	switch b.state {
	case atContent:
		n, p, err := b.take(data)
		if b.left == 0 {
			b.state = atContentEnd
		}
		return n, p, err
	case atContentEnd:
		if len(data) < 2 && data[0] == '\r' {
			return 0, Part{}, nil
		}
		if data[0] != '\r' || data[1] != '\n' {
			return 0, Part{}, b.refuse(400, 0, "no CRLF behind a chunk in "+quote(data[:1]))
		}
		b.state = atSize
		return 2, Part{}, nil
	case atSize:
		n, extension, err := b.sizeLine(data)
		return n, Part{Dropped: extension}, err
	}
	return b.trailerLine(data)
}

// lineLength returns the length of the first line of data. It returns 0 if the line is incomplete, and -1 if the line exceeds
// most bytes.
func lineLength(data []byte, most int) int {
	n := bytes.IndexByte(data[:min(len(data), most)], '\n') + 1
	if n == 0 && len(data) >= most {
		return -1
	}
	return n
}

// sizeLine parses a line with the size and the extensions of a chunk. It returns the length of the line and where its extensions are.
func (b *Body) sizeLine(data []byte) (int, Span, error) {
	room := b.limits.extensions() - b.extensions
	tooLong := func(at int) (int, Span, error) {
		return 0, Span{}, b.refuse(400, at, fmt.Sprintf("chunk extensions of more than %d bytes", b.limits.extensions()))
	}
	n := lineLength(data, maxSizeDigits+room+2)
	if n <= 0 {
		if n < 0 {
			return tooLong(0)
		}
		return 0, Span{}, nil
	}
	line := data[:n]
	digits := httprule.Past(line, 0, httprule.HexChar)
	end := httprule.PastText(line, digits)
	extension := end - digits
	bad := func(at int, reason string) (int, Span, error) {
		return 0, Span{}, b.refuse(400, at, reason+" in "+quote(line))
	}
	switch {
	case digits == 0:
		return bad(0, "no hexadecimal chunk size")
	case digits > maxSizeDigits:
		return bad(maxSizeDigits, fmt.Sprintf("a chunk size of more than %d digits", maxSizeDigits))
	case end+2 != n || line[end] != '\r':
		return bad(end, describeText(line[end]))
	case extension > 0 && line[digits] != ';':
		return bad(digits, "no semicolon or CRLF behind a chunk size")
	case extension > room:
		return tooLong(digits)
	}
	size := uint64(0)
	for _, c := range line[:digits] {
		size = size<<4 | uint64(c&0xf) + uint64(c>>6)*9
	}
	if size > math.MaxInt64 {
		return bad(0, "a chunk size above 2^63-1")
	}
	b.extensions += extension
	b.left = int64(size)
	b.state = atContent
	if size == 0 {
		b.state = atTrailer
	}
	return n, span(digits, end), nil
}

// trailerLine parses a trailer field or the empty line that ends the body.
func (b *Body) trailerLine(data []byte) (int, Part, error) {
	n := lineLength(data, min(b.limits.trailers()-b.trailers, b.limits.fieldLine()))
	switch {
	case n < 0:
		return 0, Part{}, b.refuse(431, 0, fmt.Sprintf("trailers of more than %d bytes", b.limits.trailers()))
	case n == 0:
		return 0, Part{}, nil
	}
	line := data[:n]
	if string(line) == "\r\n" {
		b.state = atBodyEnd
		return n, Part{}, nil
	}
	colon, start, end := fieldLine(line, 0)
	if end < 0 {
		return 0, Part{}, b.refuse(400, ^end, describeField(line, 0, ^end)+" in "+quote(line))
	}
	f := Field{Name: span(0, colon), Value: span(start, httprule.TrimTrailingSpace(line, start, end)), ID: httprule.FieldID(line[:colon])}
	if !httprule.InTrailers(line[:colon]) {
		return 0, Part{}, b.refuse(400, 0, "a field that is not allowed in a trailer in "+quote(line))
	}
	if b.fields++; b.fields > b.limits.fields() {
		return 0, Part{}, b.refuse(431, 0, fmt.Sprintf("more than %d trailer fields", b.limits.fields()))
	}
	b.trailers += n
	return n, Part{Trailer: f}, nil
}
