package http2

import (
	"bytes"
	"slices"

	"example.com/ferry/protocol/httprule"
)

// blockKind tells what a field block is.
type blockKind uint8

const (
	requestBlock blockKind = iota
	responseBlock
	trailersBlock
)

// bombFactor is how many times a field block may exceed Config.MaxHeader and still get 431. A client that only has too many
// cookies stays below it.
const bombFactor = 4

// headJudge judges the fields of a block as they are decoded. RFC 9113, section 8.
type headJudge struct {
	kind     blockKind
	extended bool // this side has enabled the extended CONNECT; RFC 8441, section 3
	regular  bool // a regular field was seen
	tooLarge bool
	bomb     bool // the fields exceed maxSize bombFactor times, so that decoding them is work that a small block causes

	goodAuthority bool
	goodPath      bool

	seen      uint64 // bits of the IDs of the pseudo-header fields, and of Content-Length and Host; these IDs are below 64
	size      int    // RFC 9113, section 6.5.2
	maxSize   int
	maxFields int
	cookies   int
	host      []byte
	malformed string // reason of the first fault
}

// add takes the next field of the block.
func (h *Head) add(name, value []byte, id nameID, judged judgement) {
	j := &h.judge
	j.size += len(name) + len(value) + entryOverhead
	if j.size > j.maxSize || len(h.fields) >= j.maxFields {
		j.tooLarge = true
		j.bomb = j.size > bombFactor*j.maxSize
		return
	}
	is := names[id].is
	if judged&(badName|badValue)|judgement(is&(isPseudo|isForbidden|isJudged)) != 0 {
		if judged&badName != 0 {
			j.fault("a field name with a character that is not allowed, or an unknown pseudo-header field")
			return
		}
		if judged&badValue != 0 {
			j.fault("a field value with a control character, or with white space at an end")
			return
		}
		if is&isPseudo != 0 {
			h.addPseudo(value, id, judged)
			return
		}
		if is&isForbidden != 0 {
			j.fault("a field that HTTP/2 does not allow: " + names[id].text)
			return
		}
		h.addJudged(value, id)
	}
	j.regular = true
	n := len(h.fields)
	if n == cap(h.fields) {
		h.fields = slices.Grow(h.fields, 1)
	}
	// The parts are stored one by one: append would first build the field on the stack, which takes longer than all the rest.
	h.fields = h.fields[:n+1]
	f := &h.fields[n]
	f.name, f.value, f.id, f.sensitive = name, value, id, judged&neverIndexed != 0
}

func (j *headJudge) fault(reason string) {
	if j.malformed == "" {
		j.malformed = reason
	}
}

// once reports whether the field with the ID occurs for the first time.
func (j *headJudge) once(id nameID) bool {
	bit := uint64(1) << id
	again := j.seen&bit != 0
	j.seen |= bit
	return !again
}

func (j *headJudge) has(id nameID) bool { return j.seen&(1<<id) != 0 }

// addPseudo takes a pseudo-header field. RFC 9113, section 8.3.
func (h *Head) addPseudo(value []byte, id nameID, judged judgement) {
	j := &h.judge
	if !j.once(id) {
		j.fault("a pseudo-header field that occurs twice: " + names[id].text)
		return
	}
	if j.regular {
		j.fault("a pseudo-header field after a regular field: " + names[id].text)
		return
	}
	if j.kind == trailersBlock || (id == nameStatus) != (j.kind == responseBlock) {
		j.fault("a pseudo-header field that does not belong here: " + names[id].text)
		return
	}
	switch id {
	case nameMethod:
		h.Method = value
	case nameScheme:
		h.Scheme = value
	case nameAuthority:
		h.Authority, j.goodAuthority = value, judged&goodTarget != 0
	case namePath:
		h.Path, j.goodPath = value, judged&goodTarget != 0
	case nameProtocol:
		h.Protocol = value
	case nameStatus:
		if len(value) != 3 || value[0]-'1' > 8 || value[1]-'0' > 9 || value[2]-'0' > 9 {
			j.fault("a :status that is not three digits")
			return
		}
		h.Status = int(value[0]-'0')*100 + int(value[1]-'0')*10 + int(value[2]-'0')
	}
}

// addJudged takes a regular field whose value has a meaning for the connection.
func (h *Head) addJudged(value []byte, id nameID) {
	j := &h.judge
	switch id {
	case nameTE:
		if !bytes.EqualFold(value, []byte("trailers")) { // RFC 9113, section 8.2.2
			j.fault("a te field other than trailers")
		}
	case nameContentLength:
		n, ok := parseLength(value)
		switch {
		case j.kind == trailersBlock:
			j.fault("a content-length in trailers")
		case !ok:
			j.fault("a content-length that is not a number of at most 18 digits")
		case !j.once(id):
			j.fault("a second content-length")
		}
		h.ContentLength = n
	case nameHost:
		if j.kind == trailersBlock || !j.once(id) {
			j.fault("a host field in trailers, or a second one")
		}
		j.host = value
	case nameCookie:
		j.cookies++
	case nameExpect:
		h.Expect = h.Expect || j.kind == requestBlock && bytes.EqualFold(value, []byte("100-continue"))
	}
}

// finish judges the block as a whole. It returns the reason if the message is malformed, or an empty string. RFC 9113,
// section 8.3.
func (h *Head) finish() (malformed string) {
	j := &h.judge
	switch {
	case j.malformed != "":
		return j.malformed
	case j.tooLarge:
		return ""
	case j.kind == requestBlock:
		h.finishRequest()
	case j.kind == responseBlock:
		switch {
		case !j.has(nameStatus):
			j.fault("a response without :status")
		case h.Status == 101:
			j.fault("a response 101, which HTTP/2 does not have") // RFC 9113, section 8.6
		}
	}
	if j.cookies > 1 {
		h.joinCookies()
	}
	return j.malformed
}

// finishRequest judges the pseudo-header fields of a request. RFC 9113, sections 8.3.1 and 8.5; RFC 8441, section 4.
func (h *Head) finishRequest() {
	j := &h.judge
	if len(h.Method) == 0 || !httprule.All(h.Method, httprule.TokenChar) {
		j.fault("a request without a valid :method")
		return
	}
	if j.has(nameHost) {
		if !j.has(nameAuthority) {
			h.Authority, j.goodAuthority = j.host, httprule.ValidHost(j.host, false)
		} else if !httprule.EqualFoldTokens(h.Authority, j.host) {
			j.fault("a host field that differs from :authority")
			return
		}
	}
	connect := string(h.Method) == "CONNECT"
	extended := j.has(nameProtocol)
	switch {
	case extended && (!j.extended || !connect || len(h.Protocol) == 0 || !httprule.All(h.Protocol, httprule.TokenChar)):
		j.fault("a :protocol without CONNECT, or one that this side has not enabled")
	case connect && !extended:
		if j.has(nameScheme) || j.has(namePath) || !j.has(nameAuthority) || !j.goodAuthority {
			j.fault("a CONNECT that has :scheme or :path, or no valid :authority")
		}
	case !isScheme(h.Scheme):
		j.fault("a request without a valid :scheme")
	case !j.goodPath && (string(h.Path) != "*" || string(h.Method) != "OPTIONS"):
		j.fault("a request without a valid :path")
	case !j.goodAuthority && (isHTTP(h.Scheme) || len(h.Authority) > 0):
		j.fault("a request without a valid :authority or host")
	}
}

// isHTTP reports whether the scheme has a mandatory authority.
func isHTTP(scheme []byte) bool {
	return bytes.EqualFold(scheme, []byte("http")) || bytes.EqualFold(scheme, []byte("https"))
}

// joinCookies replaces all cookie fields by one. RFC 9113, section 8.2.3.
func (h *Head) joinCookies() {
	start := len(h.arena)
	kept := h.fields[:0]
	first := -1
	sensitive := false
	for _, f := range h.fields {
		if f.id != nameCookie {
			kept = append(kept, f)
			continue
		}
		if first < 0 {
			first = len(kept)
			kept = append(kept, f)
		} else {
			h.arena = append(h.arena, "; "...)
		}
		h.arena = append(h.arena, f.value...)
		sensitive = sensitive || f.sensitive
	}
	clear(h.fields[len(kept):])
	h.fields = kept
	h.fields[first].value, h.fields[first].sensitive = h.arena[start:len(h.arena):len(h.arena)], sensitive
}
