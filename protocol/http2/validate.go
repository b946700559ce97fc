package http2

import (
	"encoding/binary"
	"math/bits"
)

// judgement holds the faults of a name or value. Zero is valid. The dynamic table keeps it, so a field that repeats is judged
// once.
type judgement uint8

const (
	valid      judgement = 0
	badName    judgement = 1 << iota // upper case or no token; RFC 9113, section 8.2.1
	badValue                         // a control character, or white space at an end; RFC 9113, section 8.2.1
	goodTarget                       // a value of :path or :authority that is valid there
	neverIndexed
)

// The classes of characters.
const (
	isToken = 1 << iota // RFC 9110, section 5.6.2, without upper case
	isUpper
	isTarget // visible ASCII but '#', because a fragment is no part of a target
	isHost   // characters of a host name or IPv4 address: letters, digits and "-._~"
	isText   // no control character but HTAB; RFC 9110, section 5.5
)

var chars = func() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			t[i] |= isToken | isHost
		case c >= 'A' && c <= 'Z':
			t[i] |= isUpper | isHost
		}
		if c > ' ' && c < 0x7f && c != '#' {
			t[i] |= isTarget
		}
		if c >= ' ' && c != 0x7f || c == '\t' {
			t[i] |= isText
		}
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] |= isToken
	}
	for _, c := range "-._~" {
		t[c] |= isHost
	}
	return t
}()

// all reports whether each byte of p belongs to one of the classes.
func all(p []byte, classes uint8) bool {
	for _, c := range p {
		if chars[c]&classes == 0 {
			return false
		}
	}
	return true
}

// isLower reports whether p has no upper-case letter.
func isLower(p []byte) bool {
	for _, c := range p {
		if c-'A' < 26 {
			return false
		}
	}
	return true
}

// judgeName judges a field name. The names of pseudo-header fields are valid if they are known: nameIDOf has checked them.
func judgeName(name []byte) judgement {
	if len(name) == 0 || !all(name, isToken) {
		if len(name) > 0 && name[0] == ':' && isLower(name) && nameIDOf(name) != nameOther {
			return valid
		}
		return badName
	}
	return valid
}

// judgeValue judges a field value. RFC 9113, section 8.2.1; RFC 9110, section 5.5, for control characters but NUL, CR and LF.
func judgeValue(v []byte) judgement {
	if len(v) == 0 {
		return valid
	}
	if first, last := v[0], v[len(v)-1]; first == ' ' || first == '\t' || last == ' ' || last == '\t' || !isFieldText(v) {
		return badValue
	}
	return valid
}

// The lowest and the highest bit of each byte of a word.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// isFieldText reports whether v has no control character but HTAB. It tests eight bytes in one word: a subtraction finds a byte
// below 0x20 and a 0x7f.
func isFieldText(v []byte) bool {
	for len(v) >= 8 {
		w := binary.LittleEndian.Uint64(v)
		del := w ^ 0x7f*ones
		hit := ((w-0x20*ones)&^w | (del-ones)&^del) & highs
		if hit != 0 {
			at := bits.TrailingZeros64(hit) >> 3
			if v[at] != '\t' {
				return false
			}
			v = v[at+1:]
			continue
		}
		v = v[8:]
	}
	return all(v, isText)
}

// isTargetText reports whether p has visible ASCII without '#' only. It tests eight bytes in one word, as isFieldText does.
func isTargetText(p []byte) bool {
	for len(p) >= 8 {
		w := binary.LittleEndian.Uint64(p)
		hash, del := w^'#'*ones, w^0x7f*ones
		if (w|(w-0x21*ones)&^w|(hash-ones)&^hash|(del-ones)&^del)&highs != 0 {
			return false
		}
		p = p[8:]
	}
	return all(p, isTarget)
}

// isPath reports whether p is a path with an optional query. RFC 9113, section 8.3.1.
func isPath(p []byte) bool { return len(p) > 0 && p[0] == '/' && isTargetText(p) }

// judgeTarget judges the value of :path or :authority.
func judgeTarget(id nameID, value []byte) judgement {
	if id == namePath && isPath(value) || id == nameAuthority && isAuthority(value) {
		return goodTarget
	}
	return valid
}

// isAuthority reports whether p is HOST or HOST:PORT without user information. RFC 9113, section 8.3.1.
func isAuthority(p []byte) bool {
	host := 0
	if len(p) > 0 && p[0] == '[' {
		for host = 1; host < len(p) && p[host] != ']'; host++ {
			if c := p[host]; c != ':' && c != '.' && chars[c]&isHost == 0 {
				return false
			}
		}
		if host == len(p) || host == 1 {
			return false
		}
		host++
	} else {
		for host < len(p) && chars[p[host]]&isHost != 0 {
			host++
		}
	}
	if host == 0 {
		return false
	}
	if host == len(p) {
		return true
	}
	if p[host] != ':' {
		return false
	}
	for _, c := range p[host+1:] {
		if c-'0' > 9 {
			return false
		}
	}
	return true
}

// isScheme reports whether p is a URI scheme. RFC 3986, section 3.1.
func isScheme(p []byte) bool {
	for i, c := range p {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '+' && c != '-' && c != '.' && c-'0' > 9) {
			return false
		}
	}
	return len(p) > 0
}

// parseLength parses a Content-Length, which must consist of digits. RFC 9110, section 8.6.
func parseLength(value []byte) (int64, bool) {
	if len(value) == 0 || len(value) > 18 {
		return 0, false
	}
	n := int64(0)
	for _, c := range value {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// equalFold reports whether a and b are equal if the case of letters is ignored.
func equalFold(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x != y && (x^y != 0x20 || x|0x20 < 'a' || x|0x20 > 'z') {
			return false
		}
	}
	return true
}
