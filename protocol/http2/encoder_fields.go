package http2

import (
	"bytes"
	"strconv"
)

// The patterns of literals. RFC 7541, section 6.2.
const (
	withIndexing    = 0x40 // 6 bits of index
	withoutIndexing = 0x00 // 4 bits of index
	neverIndexing   = 0x10 // 4 bits of index
)

// Status writes the :status of a response. A code from 100 to 199 makes the block an interim response.
func (e *Encoder) Status(code int) {
	e.interim = code >= 100 && code < 200
	if code < len(staticStatus) && staticStatus[code] != 0 {
		e.p = append(e.p, 0x80|staticStatus[code])
		return
	}
	var digits [8]byte
	e.field(nameStatus, strconv.AppendInt(digits[:0], int64(code), 10))
}

// staticStatus has the indices of the static table by code.
var staticStatus = [...]uint8{200: 8, 204: 9, 206: 10, 304: 11, 400: 12, 404: 13, 500: 14}

// Method writes the :method of a request.
func (e *Encoder) Method(method []byte) {
	switch string(method) {
	case "GET":
		e.p = append(e.p, 0x82)
		return
	case "POST":
		e.p = append(e.p, 0x83)
		return
	case "HEAD":
		e.stream.flags |= forHead
	case "CONNECT":
		e.stream.flags |= forConnect
	}
	e.field(nameMethod, method)
}

// Scheme writes the :scheme of a request.
func (e *Encoder) Scheme(scheme []byte) {
	switch string(scheme) {
	case "http":
		e.p = append(e.p, 0x86)
	case "https":
		e.p = append(e.p, 0x87)
	default:
		e.field(nameScheme, scheme)
	}
}

// Authority writes the :authority of a request. Do not write a Host field beside it.
func (e *Encoder) Authority(authority []byte) { e.field(nameAuthority, authority) }

// Path writes the :path of a request, with the query.
func (e *Encoder) Path(path []byte) {
	if string(path) == "/" {
		e.p = append(e.p, 0x84)
		return
	}
	e.field(namePath, path)
}

// Protocol writes the :protocol of an extended CONNECT. RFC 8441, section 4.
func (e *Encoder) Protocol(protocol []byte) { e.field(nameProtocol, protocol) }

// Field writes a field. Its name is written in lower case.
func (e *Encoder) Field(name, value []byte) {
	id := nameIDOf(name)
	if id == nameOther {
		e.p = appendString(appendLower(append(e.p, withoutIndexing), name), value)
		return
	}
	e.field(id, value)
}

// HeadField writes the regular field of h with the index, from 0 to h.Len()-1. It is faster than Field, and keeps the field sensitive
// if it is.
func (e *Encoder) HeadField(h *Head, i int) {
	f := &h.fields[i]
	switch {
	case f.sensitive || f.id == nameOther:
		pattern := byte(withoutIndexing)
		if f.sensitive {
			pattern = neverIndexing
		}
		if f.id == nameOther {
			e.p = appendString(appendString(append(e.p, pattern), f.name), f.value)
		} else if names[f.id].is&isForbidden == 0 {
			e.literal(pattern, 4, f.id, nil, f.value)
		}
	default:
		e.field(f.id, f.value)
	}
}

// FieldString writes a field. Its name is written in lower case.
func (e *Encoder) FieldString(name, value string) {
	id := nameIDOf(name)
	if id == nameOther {
		e.p = appendString(appendLower(append(e.p, withoutIndexing), name), value)
		return
	}
	e.field(id, []byte(value))
}

// Sensitive writes a field that no table may index on the rest of its way. RFC 7541, section 7.1.3. Field does so for
// Authorization, Proxy-Authorization, Cookie and Set-Cookie.
func (e *Encoder) Sensitive(name, value []byte) {
	id := nameIDOf(name)
	if names[id].is&isForbidden != 0 {
		return
	}
	e.literal(neverIndexing, 4, id, name, value)
}

// field writes a field with a known name.
func (e *Encoder) field(id nameID, value []byte) {
	is := names[id].is
	if is&(isForbidden|isSensitive|isRepeated) == 0 {
		e.literal(withoutIndexing, 4, id, nil, value)
		return
	}
	switch {
	case is&isForbidden != 0, id == nameTE && !bytes.EqualFold(value, []byte("trailers")):
	case is&isSensitive != 0:
		e.literal(neverIndexing, 4, id, nil, value)
	case e.plain:
		e.literal(withoutIndexing, 4, id, nil, value)
	default:
		at, index := e.table.find(id, value)
		switch {
		case at != 0:
			e.p = appendInteger(e.p, 0x80, 7, at)
		case index:
			e.literal(withIndexing, 6, id, nil, value)
			e.table.insert(id, value)
		default:
			e.literal(withoutIndexing, 4, id, nil, value)
		}
	}
}

// literal writes a literal field. name is used if id is nameOther.
func (e *Encoder) literal(pattern byte, prefix uint, id nameID, name, value []byte) {
	p := e.p
	switch static := int(names[id].static); {
	case static != 0:
		p = appendInteger(p, pattern, prefix, static)
	case id != nameOther:
		p = appendString(append(p, pattern), names[id].text)
	default:
		p = appendLower(append(p, pattern), name)
	}
	e.p = appendString(p, value)
}
