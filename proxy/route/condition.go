package route

import (
	"fmt"
	"regexp"
	"strings"
)

// conditions is a compiled Match.
type conditions struct {
	path    pathCondition
	methods []string
	bolt    Bolt
	headers []headerCondition
	query   []Parameter
	payload *payload // nil if it asks for nothing
}

// hold reports whether all conditions but that on the payload hold.
func (c *conditions) hold(r *Request) bool {
	if !c.path.holds(r.Path) || !oneOf(c.methods, r.Method) || !c.bolt.holds(r) {
		return false
	}
	for i := range c.headers {
		if !c.headers[i].holds(r.Header) {
			return false
		}
	}
	for i := range c.query {
		if !c.query[i].holds(r.Query) {
			return false
		}
	}
	return true
}

// pathCondition takes the paths that regex matches, or, where that is nil, that text and how say.
type pathCondition struct {
	how   how
	text  string
	regex *regexp.Regexp
}

type how uint8

const (
	anyPath how = iota
	exactPath
	prefixPath
	segmentPath
	regexPath
)

// literal reports whether a path that holds begins with p.text, always.
func (p *pathCondition) literal() bool { return p.how != anyPath && p.how != regexPath }

func (p *pathCondition) holds(path []byte) bool {
	switch p.how {
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

func (h *headerCondition) holds(header Values) bool {
	var value []byte
	if header != nil {
		value = header.Get(h.Name)
	}
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

func (b *builder) conditions(at place, m *Match) conditions {
	c := conditions{methods: m.Methods, bolt: m.Bolt, query: m.Query}
	c.path = b.path(at, m)
	ofHTTP := c.path.how != anyPath || len(m.Methods)+len(m.Query) > 0
	if ofHTTP && m.Bolt != (Bolt{}) {
		b.add(at.dot("bolt"), "stands beside path, methods or query: no request is of Bolt and of HTTP; make it two routes")
	}
	for i, name := range m.Methods {
		if name == "" || strings.ContainsAny(name, " \t\r\n") {
			b.add(at.dot("methods").index(i), "%q is no method: write one such as GET", name)
		}
	}
	for i, h := range m.Headers {
		c.headers = append(c.headers, b.header(at.dot("headers").index(i), h))
	}
	for i, p := range m.Query {
		if p.Name == "" {
			b.add(at.dot("query").index(i).dot("name"), "empty: name a parameter")
		}
	}
	if m.Payload != nil {
		c.payload = b.payload(at.dot("payload"), m.Payload)
	}
	return c
}

func (b *builder) path(at place, m *Match) pathCondition {
	c := pathCondition{}
	if m.Regex != "" {
		c = pathCondition{how: regexPath, regex: b.whole(at.dot("regex"), m.Regex)}
	}
	for _, o := range []struct {
		name, text string
		how        how
	}{{"path", m.Path, exactPath}, {"prefix", m.Prefix, prefixPath}, {"segment_prefix", m.SegmentPrefix, segmentPath}} {
		switch {
		case o.text == "":
		case c.how != anyPath:
			b.add(at.dot(o.name), "%q stands beside another condition on the path: give one of path, prefix, segment_prefix and regex", o.text)
		case o.text[0] != '/' && o.text != "*":
			b.add(at.dot(o.name), "%q does not begin with a slash: no path does without", o.text)
		case strings.ContainsAny(o.text, "?#"):
			b.add(at.dot(o.name), "%q has a query or fragment, which is no part of a path: use query", o.text)
		default:
			c = pathCondition{how: o.how, text: o.text}
		}
	}
	if c.how == segmentPath {
		c.text = strings.TrimSuffix(c.text, "/")
	}
	if c.text == "" && c.how == segmentPath { // of / all paths are segments
		c = pathCondition{how: prefixPath, text: "/"}
	}
	return c
}

func (b *builder) header(at place, h Header) headerCondition {
	if h.Name == "" {
		b.add(at.dot("name"), "empty: name a field")
	}
	given := 0
	for _, is := range []bool{h.Value != "", h.Prefix != "", h.Regex != "", h.Absent} {
		if is {
			given++
		}
	}
	if given > 1 {
		b.add(at, "more than one of value, prefix, regex and absent: give one, or a condition for each")
	}
	c := headerCondition{Header: h}
	if h.Regex != "" {
		c.regex = b.whole(at.dot("regex"), h.Regex)
	}
	return c
}

// whole compiles a regular expression that matches whole texts only.
func (b *builder) whole(at place, text string) *regexp.Regexp {
	if _, err := regexp.Compile(text); err != nil { // by itself: a) and (b make no pair
		b.add(at, "%v", err)
		return nil
	}
	return regexp.MustCompile(fmt.Sprintf(`\A(?:%s)\z`, text))
}
