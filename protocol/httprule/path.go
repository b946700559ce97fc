package httprule

import "bytes"

// Paths are the two readings of a request's path. Servers read a path in one way or the other, so a route has to be the same for both.
type Paths struct {
	// First is the path with escapes of unreserved characters decoded and dot segments removed. RFC 3986, section 6.2.2.
	First []byte
	// Second is First with each %2f and %5c decoded to a slash, dot segments removed again, and each run of slashes merged.
	Second []byte
}

// Same reports whether both readings have the same bytes.
func (p *Paths) Same() bool { return bytes.Equal(p.First, p.Second) }

// KeptBy reports whether a server that gets path itself, of which p are the readings, comes to p.Second in whichever order it decodes separators, merges
// slashes and removes dot segments.
func (p *Paths) KeptBy(path []byte) bool {
	var memory [256]byte
	b := memory[:0]
	for _, decode := range [...]func(byte) (byte, bool){isUnreserved, isPathChar} {
		var problem string
		if b, problem = appendUnescaped(b[:0], path, decode); problem != "" {
			return false
		}
		if b, problem = removeDots(b, 0, true); problem != "" {
			return false
		}
	}
	return bytes.Equal(mergeSlashes(b), p.Second)
}

// The problems of a path.
const (
	badChar      = "a character that no URI contains"
	badEscape    = "a percent sign without two hexadecimal digits"
	zeroByte     = "an escaped zero byte"
	aboveRoot    = "dot segments that lead above the root"
	dotParameter = "a dot segment with a parameter"
	ambiguousDot = "dot segments behind an empty segment"
)

// PathReader reads paths. It keeps memory for the readings of one path. The zero value is ready.
type PathReader struct{ buf []byte }

// Read returns the two readings of a path, without its query. They are views of path, or of memory that is valid until the next Read. problem says why
// the path is refused; it is empty if it is not. A path that does not begin with a slash is *, or empty, and stays as it is.
func (r *PathReader) Read(path []byte) (p Paths, problem string) {
	if len(path) == 0 || path[0] != '/' {
		return Paths{path, path}, ""
	}
	plain, before := true, byte(0)
	for _, c := range path {
		if chars[c]&TargetChar == 0 {
			return Paths{}, badChar
		}
		if c == '%' || before == '/' && (c == '/' || c == '.') {
			plain = false
		}
		before = c
	}
	if plain {
		return Paths{path, path}, ""
	}
	b, problem := appendUnescaped(r.buf[:0], path, isUnreserved)
	if problem != "" {
		return Paths{}, problem
	}
	b, problem = removeDots(b, 0, false)
	if problem != "" {
		return Paths{}, problem
	}
	n := len(b)
	b, _ = appendUnescaped(b, b[:n], isSeparator)
	r.buf = b
	second, problem := removeDots(b, n, true)
	if problem != "" {
		return Paths{}, problem
	}
	return Paths{b[:n:n], mergeSlashes(second[n:])}, ""
}

// maxKeptPath is the largest memory that a PathReader keeps for the next path.
const maxKeptPath = 4 << 10

// Release drops the memory of a long path.
func (r *PathReader) Release() {
	if cap(r.buf) > maxKeptPath {
		r.buf = nil
	}
}

// isUnreserved reports whether an escape of c is decoded in the first reading, and to which character. RFC 3986, section 2.3.
func isUnreserved(c byte) (byte, bool) { return c, chars[c]&HostChar != 0 }

// isSeparator reports whether an escape of c is decoded in the second reading, and to which character.
func isSeparator(c byte) (byte, bool) { return '/', c == '/' || c == '\\' }

// appendUnescaped appends path with the escapes decoded that decode names. It stays valid if path is a part of b.
func appendUnescaped(b, path []byte, decode func(byte) (byte, bool)) (_ []byte, problem string) {
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c != '%' {
			b = append(b, c)
			continue
		}
		if !isEscape(path[i:]) {
			return nil, badEscape
		}
		escaped := hexValue(path[i+1])<<4 | hexValue(path[i+2])
		if escaped == 0 {
			return nil, zeroByte
		}
		if plain, ok := decode(escaped); ok {
			b = append(b, plain)
		} else {
			b = append(b, path[i:i+3]...)
		}
		i += 2
	}
	return b, ""
}

// isEscape reports whether p begins with an escape.
func isEscape(p []byte) bool {
	return len(p) > 2 && p[0] == '%' && chars[p[1]]&chars[p[2]]&HexChar != 0
}

// BadEscape returns the offset of the first percent sign in path that begins no escape, or -1.
func BadEscape(path []byte) int {
	for i := 0; ; i += 3 {
		n := bytes.IndexByte(path[i:], '%')
		if n < 0 {
			return -1
		}
		if i += n; !isEscape(path[i:]) {
			return i
		}
	}
}

// hexValue returns the value of a hexadecimal digit.
func hexValue(c byte) byte { return c&0xf + c>>6*9 }

// removeDots removes the dot segments of the path b[start:], within its memory. RFC 3986, section 5.2.4. In the second reading, a server that merges
// slashes first would remove another segment than one that does not, if an empty one is to be removed.
func removeDots(b []byte, start int, second bool) (_ []byte, problem string) {
	out := b[:start]
	for at := start; at < len(b); {
		end := at + 1 // b[at] is the slash before the segment
		for end < len(b) && b[end] != '/' {
			end++
		}
		segment, ends := b[at+1:end], end == len(b)
		name, _, parameter := bytes.Cut(segment, semicolon)
		dots := string(name) == "." || string(name) == ".."
		switch {
		case dots && parameter:
			return nil, dotParameter
		case !dots:
			out = append(out, b[at:end]...)
		default:
			if len(name) == 2 {
				last := bytes.LastIndexByte(out[start:], '/')
				switch {
				case last < 0:
					return nil, aboveRoot
				case second && start+last == len(out)-1:
					return nil, ambiguousDot
				}
				out = out[:start+last]
			}
			if ends {
				out = append(out, '/')
			}
		}
		at = end
	}
	return out, ""
}

var semicolon = []byte(";")

// mergeSlashes merges each run of slashes, within the memory of path.
func mergeSlashes(path []byte) []byte {
	out := path[:0]
	for i, c := range path {
		if c != '/' || i == 0 || path[i-1] != '/' {
			out = append(out, c)
		}
	}
	return out
}

// HasDots reports whether a path that the proxy has built has a dot segment in one of its readings, or is refused.
func HasDots(path []byte) bool {
	if !All(path, TargetChar) {
		return true
	}
	var memory [256]byte
	b, problem := appendUnescaped(memory[:0], path, isPathChar)
	if problem != "" {
		return true
	}
	for segment := range bytes.SplitSeq(b, slash) {
		if name, _, _ := bytes.Cut(segment, semicolon); string(name) == "." || string(name) == ".." {
			return true
		}
	}
	return false
}

var slash = []byte("/")

// isPathChar decodes what either reading decodes.
func isPathChar(c byte) (byte, bool) {
	if plain, ok := isSeparator(c); ok {
		return plain, true
	}
	return isUnreserved(c)
}

// CheckQuery returns why a query is refused, or an empty string.
func CheckQuery(query []byte) (problem string) {
	if !All(query, TargetChar) {
		return badChar
	}
	return ""
}
