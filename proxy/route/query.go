package route

import "bytes"

// holds evaluates the condition for each parameter of the name in query.
func (p *Parameter) holds(query []byte) conditionResult {
	result, found := conditionFails, false
	for len(query) > 0 {
		pair := query
		if i := bytes.IndexByte(query, '&'); i >= 0 {
			pair, query = query[:i], query[i+1:]
		} else {
			query = nil
		}
		name, value := pair, pair[len(pair):]
		if i := bytes.IndexByte(pair, '='); i >= 0 {
			name, value = pair[:i], pair[i+1:]
		}
		if !decodesTo(name, p.Name) {
			continue
		}
		one := resultOf(p.Value == "" || decodesTo(value, p.Value))
		if found && one != result {
			return conditionAmbiguous
		}
		result, found = one, true
	}
	return result
}

// decodesTo reports whether b equals s after query decoding.
func decodesTo(b []byte, s string) bool {
	for len(b) > 0 {
		c, n := b[0], 1
		switch c {
		case '+':
			c = ' '
		case '%':
			if len(b) > 2 {
				high, low := digit(b[1]), digit(b[2])
				if high < 16 && low < 16 {
					c, n = high<<4|low, 3
				}
			}
		}
		if s == "" || s[0] != c {
			return false
		}
		b, s = b[n:], s[1:]
	}
	return s == ""
}

// digit returns the value of a hexadecimal digit, and 16 for any other byte.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}
