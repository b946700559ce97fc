package route

import (
	"fmt"
	"regexp"
	"strings"

	"example.com/ferry/protocol/httprule"
)

// conditions is a compiled Match.
type conditions struct {
	path    pathCondition
	methods []string
	bolt    Bolt
	headers []headerCondition
	query   []Parameter
	tls     *tlsConditions    // nil if the Match has none
	payload *payloadCondition // nil if the Match has no Payload
}

// allButPayload evaluates all conditions except the payload condition. It is ambiguous if none fails, but one holds for one reading of the request
// only: for one reading of the path, or for one of several fields or parameters of the same name. Servers use the first, the last or all of these.
func (c *conditions) allButPayload(r *Request) conditionResult {
	first := c.path.holds(r.Path)
	second := first
	if r.Second != nil {
		second = c.path.holds(r.Second)
	}
	if !first && !second || !oneOf(c.methods, r.Method) || !c.bolt.holds(r) {
		return conditionFails
	}
	result := conditionHolds
	if first != second {
		result = conditionAmbiguous
	}
	for i := range c.headers {
		switch c.headers[i].holds(r.Header) {
		case conditionFails:
			return conditionFails
		case conditionAmbiguous:
			result = conditionAmbiguous
		}
	}
	for i := range c.query {
		switch c.query[i].holds(r.Query) {
		case conditionFails:
			return conditionFails
		case conditionAmbiguous:
			result = conditionAmbiguous
		}
	}
	if c.tls != nil && !c.tls.hold(r) {
		return conditionFails
	}
	return result
}

// pathCondition matches paths against text or, for regexPath, against regex.
type pathCondition struct {
	match pathMatch
	text  string
	regex *regexp.Regexp
}

type pathMatch uint8

const (
	anyPath pathMatch = iota
	exactPath
	prefixPath
	segmentPath
	regexPath
)

// hasLiteralPrefix reports whether every matching path begins with p.text.
func (p *pathCondition) hasLiteralPrefix() bool { return p.match != anyPath && p.match != regexPath }

func (p *pathCondition) holds(path []byte) bool {
	switch p.match {
	case exactPath:
		return string(path) == p.text
	case prefixPath:
		return hasPrefix(path, p.text)
	case segmentPath:
		return hasPrefix(path, p.text) && (len(path) == len(p.text) || path[len(p.text)] == '/')
	case regexPath:
		return len(path) > 0 && p.regex.Match(path)
	}
	return true
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

func oneOf(methods []string, method []byte) bool {
	if len(methods) == 0 {
		return true
	}
	for _, m := range methods {
		if string(method) == m {
			return true
		}
	}
	return false
}

func (b Bolt) holds(r *Request) bool {
	return (b.Service == "" || string(r.Bolt.Service) == b.Service) &&
		(b.Method == "" || string(r.Bolt.Method) == b.Method) &&
		(b.Class == "" || string(r.Bolt.Class) == b.Class)
}

type headerCondition struct {
	Header
	regex *regexp.Regexp
}

// holds evaluates the condition for each field of the name.
func (h *headerCondition) holds(header Values) conditionResult {
	if header == nil {
		return resultOf(h.holdsFor(nil))
	}
	value := header.Nth(h.Name, 0)
	first := h.holdsFor(value)
	for n := 1; value != nil; n++ {
		if value = header.Nth(h.Name, n); value != nil && h.holdsFor(value) != first {
			return conditionAmbiguous
		}
	}
	return resultOf(first)
}

func resultOf(holds bool) conditionResult {
	if holds {
		return conditionHolds
	}
	return conditionFails
}

// holdsFor evaluates the condition for the value of a field, nil if there is no field.
func (h *headerCondition) holdsFor(value []byte) bool {
	switch {
	case value == nil || h.Absent:
		return value == nil && h.Absent
	case h.Value != "":
		return string(value) == h.Value
	case h.regex != nil:
		return h.regex.Match(value)
	}
	return hasPrefix(value, h.Prefix)
}

func (b *builder) compileConditions(at fieldPath, m *Match) conditions {
	c := conditions{methods: m.Methods, bolt: m.Bolt, query: m.Query}
	c.path = b.compilePath(at, m)
	ofHTTP := c.path.match != anyPath || len(m.Methods)+len(m.Query) > 0
	if ofHTTP && m.Bolt != (Bolt{}) {
		b.addError(at.dot("bolt"), "cannot be combined with path, methods or query: no request is both Bolt and HTTP; write two routes")
	}
	for i, name := range m.Methods {
		if name == "" || strings.ContainsAny(name, " \t\r\n") {
			b.addError(at.dot("methods").index(i), "%q is not a method: write one such as GET", name)
		}
	}
	for i, h := range m.Headers {
		c.headers = append(c.headers, b.compileHeader(at.dot("headers").index(i), h))
	}
	for i, p := range m.Query {
		if p.Name == "" {
			b.addError(at.dot("query").index(i).dot("name"), "empty: name a parameter")
		}
	}
	c.tls = b.compileTLS(at, m)
	if m.Payload != nil {
		c.payload = b.compilePayload(at.dot("payload"), m.Payload)
	}
	return c
}

func (b *builder) compilePath(at fieldPath, m *Match) pathCondition {
	c := pathCondition{}
	if m.Regex != "" {
		c = pathCondition{match: regexPath, regex: b.anchoredRegexp(at.dot("regex"), m.Regex)}
	}
	for _, o := range []struct {
		name, text string
		how        pathMatch
	}{{"path", m.Path, exactPath}, {"prefix", m.Prefix, prefixPath}, {"segment_prefix", m.SegmentPrefix, segmentPath}} {
		switch {
		case o.text == "":
		case c.match != anyPath:
			b.addError(at.dot(o.name), "%q is a second condition on the path: give one of path, prefix, segment_prefix and regex", o.text)
		case o.text[0] != '/' && o.text != "*":
			b.addError(at.dot(o.name), "%q does not begin with a slash: every path does", o.text)
		case strings.ContainsAny(o.text, "?#"):
			b.addError(at.dot(o.name), "%q has a query or fragment, which is not part of a path: use query", o.text)
		default:
			c = pathCondition{match: o.how, text: readText(o.text)}
		}
	}
	if c.match == segmentPath {
		c.text = strings.TrimSuffix(c.text, "/")
	}
	if c.text == "" && c.match == segmentPath { // segment_prefix: / matches every path
		c = pathCondition{match: prefixPath, text: "/"}
	}
	return c
}

// readText returns the text of a condition as the paths of requests are read: with escapes of unreserved characters decoded.
func readText(text string) string {
	var r httprule.PathReader
	if p, problem := r.Read([]byte(text)); problem == "" {
		return string(p.First)
	}
	return text
}

func (b *builder) compileHeader(at fieldPath, h Header) headerCondition {
	if h.Name == "" {
		b.addError(at.dot("name"), "empty: name a field")
	}
	given := 0
	for _, is := range []bool{h.Value != "", h.Prefix != "", h.Regex != "", h.Absent} {
		if is {
			given++
		}
	}
	if given > 1 {
		b.addError(at, "more than one of value, prefix, regex and absent: give one, or a condition for each")
	}
	c := headerCondition{Header: h}
	if h.Regex != "" {
		c.regex = b.anchoredRegexp(at.dot("regex"), h.Regex)
	}
	return c
}

// anchoredRegexp compiles a regular expression that matches the whole text.
func (b *builder) anchoredRegexp(at fieldPath, text string) *regexp.Regexp {
	if _, err := regexp.Compile(text); err != nil { // without the group first: the group would hide the error in a)|(b
		b.addError(at, "%v", err)
		return nil
	}
	return regexp.MustCompile(fmt.Sprintf(`\A(?:%s)\z`, text))
}
