package http2

import "example.com/ferry/protocol/httprule"

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
	if len(name) == 0 || !httprule.All(name, httprule.LowerTokenChar) {
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
	if first, last := v[0], v[len(v)-1]; first == ' ' || first == '\t' || last == ' ' || last == '\t' || !httprule.IsText(v) {
		return badValue
	}
	return valid
}

// isPath reports whether p may be a path with an optional query: the rest of the rules of httprule are for who routes it. RFC 9113, section 8.3.1.
func isPath(p []byte) bool {
	return len(p) > 0 && p[0] == '/' && httprule.All(p, httprule.VisibleChar)
}

// judgeTarget judges the value of :path or :authority.
func judgeTarget(id nameID, value []byte) judgement {
	if id == namePath && isPath(value) || id == nameAuthority && httprule.ValidHost(value, false) {
		return goodTarget
	}
	return valid
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
