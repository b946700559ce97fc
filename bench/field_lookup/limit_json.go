package main

// jsonScan is the limit for JSON: one flat object without white space and without escapes, byte by byte.
//
//go:noinline
func jsonScan(data []byte, key string) (off, end int, ok bool) {
	if len(data) == 0 || data[0] != '{' {
		return 0, 0, false
	}
	for at := 1; at < len(data) && data[at] == '"'; at++ {
		name := at + 1
		at = closing(data, name)
		if at+2 >= len(data) || data[at+1] != ':' {
			return 0, 0, false
		}
		found := string(data[name:at]) == key
		at += 2
		value := at
		var end int
		if data[at] == '"' {
			value++
			end = closing(data, value)
			at = end + 1
		} else {
			for at < len(data) && data[at] != ',' && data[at] != '}' {
				at++
			}
			end = at
		}
		if at >= len(data) {
			return 0, 0, false
		}
		if found {
			return value, end, true
		}
	}
	return 0, 0, false
}

// closing returns the offset of the closing quote of the text that begins at offset at, or len(data) if there is none.
func closing(data []byte, at int) int {
	for at < len(data) && data[at] != '"' {
		if data[at] == '\\' || data[at] < ' ' {
			return len(data)
		}
		at++
	}
	return at
}
