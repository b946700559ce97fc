package route_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/all"
	"example.com/ferry/proxy/route"
)

// naive is a second implementation of Match that follows its documentation literally: rule after rule, each condition
// on the whole request.
func naive(c *route.Config, r *route.Request, payload []byte) string {
	v := naiveHost(c, string(r.Host))
	if v == nil {
		return "none"
	}
	for i := range v.Routes {
		switch first, last := naiveMatch(&v.Routes[i].Match, r, payload, false), naiveMatch(&v.Routes[i].Match, r, payload, true); {
		case first != last:
			return "ambiguous"
		case first:
			return v.Routes[i].Name
		}
	}
	return "none"
}

func naiveHost(c *route.Config, host string) (found *route.VirtualHost) {
	if name, _, err := net.SplitHostPort(host); err == nil {
		if host = name; strings.Contains(name, ":") {
			host = "[" + name + "]"
		}
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	best := -1
	for i, v := range c.VirtualHosts {
		for _, name := range v.Hosts {
			suffix, below := strings.CutPrefix(strings.ToLower(name), "*.")
			fits := name == "*" || strings.EqualFold(name, host)
			score := len(name)
			if below {
				fits = strings.HasSuffix(host, "."+suffix) && host != "."+suffix
			} else if name != "*" {
				score += 1000
			}
			if fits && score > best {
				best, found = score, &c.VirtualHosts[i]
			}
		}
	}
	return found
}

// naiveMatch matches with the first or the last of several parameters of one name. No request of this test has more than two.
func naiveMatch(m *route.Match, r *route.Request, payload []byte, last bool) bool {
	path := string(r.Path)
	whole := func(pattern, s string) bool {
		for _, longest := range []bool{false, true} { // the leftmost match may be a shorter alternative
			re := regexp.MustCompile(pattern)
			if longest {
				re.Longest()
			}
			if at := re.FindStringIndex(s); at != nil && at[0] == 0 && at[1] == len(s) {
				return true
			}
		}
		return false
	}
	trimmed := strings.TrimSuffix(m.SegmentPrefix, "/")
	switch {
	case m.Path != "" && path != m.Path,
		!strings.HasPrefix(path, m.Prefix),
		m.SegmentPrefix != "" && (path == "" || path != trimmed && !strings.HasPrefix(path, trimmed+"/")),
		m.Regex != "" && (path == "" || !whole(m.Regex, path)),
		len(m.Methods) > 0 && !slices.Contains(m.Methods, string(r.Method)),
		m.Bolt.Service != "" && m.Bolt.Service != string(r.Bolt.Service),
		m.Bolt.Method != "" && m.Bolt.Method != string(r.Bolt.Method),
		m.Bolt.Class != "" && m.Bolt.Class != string(r.Bolt.Class):
		return false
	}
	for _, h := range m.Headers {
		value := r.Header.Nth(h.Name, 0)
		if (value == nil) != h.Absent || h.Value != "" && string(value) != h.Value || !strings.HasPrefix(string(value), h.Prefix) ||
			h.Regex != "" && !whole(h.Regex, string(value)) {
			return false
		}
	}
	query, _ := url.ParseQuery(string(r.Query)) // malformed pairs are dropped
	for _, p := range m.Query {
		values := query[p.Name]
		if len(values) > 0 && last {
			slices.Reverse(values)
		}
		if len(values) == 0 || p.Value != "" && values[0] != p.Value {
			return false
		}
	}
	return m.Payload == nil || naivePayload(m.Payload, payload)
}

func naivePayload(p *route.Payload, payload []byte) bool {
	formats := all.Formats()
	f := formats[slices.IndexFunc(formats, func(f format.Format) bool { return f.Name() == p.Format })]
	ok, _, err := format.NewMatcher(f, field.MustParsePredicate(p.Where)).Match(payload)
	return ok && err == nil
}

// choices generates configurations and requests from a small set of parts, so that requests often match.
type choices struct{ *rand.Rand }

func pick[T any](c choices, list ...T) T { return list[c.IntN(len(list))] }

func (c choices) path() string {
	return pick(c, "/", "/a", "/a/", "/a/b", "/ab", "/a/b/c", "/a/b/cd", "/b", "/b/a", "/b/a/", "/c//")
}

func (c choices) match() (m route.Match) {
	switch c.IntN(6) {
	case 0:
		m.Path = c.path()
	case 1:
		m.Prefix = c.path()
	case 2:
		m.SegmentPrefix = c.path()
	case 3:
		m.Regex = pick(c, "/a.*", ".*b", "/[ab]/[ab]", "/a|/a/b", "(/[a-c])+")
	case 4:
		m.Bolt = pick(c, route.Bolt{Service: "s"}, route.Bolt{Service: "t", Method: "m"}, route.Bolt{Class: "c"})
	}
	if m.Bolt == (route.Bolt{}) && c.IntN(4) == 0 {
		m.Methods = pick(c, []string{"GET"}, []string{"POST", "PUT"})
	}
	if m.Bolt == (route.Bolt{}) && c.IntN(5) == 0 {
		m.Query = []route.Parameter{{Name: pick(c, "q", "r s"), Value: pick(c, "", "1", "a b")}}
	}
	if c.IntN(4) == 0 {
		h := pick(c, route.Header{Value: "v"}, route.Header{Prefix: "v"}, route.Header{Regex: "v|vw"}, route.Header{Absent: true}, route.Header{})
		h.Name = pick(c, "x", "y")
		m.Headers = append(m.Headers, h)
	}
	if c.IntN(4) == 0 {
		m.Payload = &route.Payload{Format: "json", Where: pick(c, `k == 1`, `!(k == 1)`, `exists(l.0)`, `k == 1 || l.0 == "x"`, `k > 0 && l.0 == "x"`)}
	}
	return m
}

func (c choices) config() *route.Config {
	config := &route.Config{}
	hosts := []string{"h", "*.h", "*.b.h", "a.b.h", "[::1]", "*"}
	c.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	for len(hosts) > 0 {
		n := 1 + c.IntN(len(hosts))
		v := route.VirtualHost{Hosts: hosts[:n]}
		hosts = hosts[n:]
		for i := range c.IntN(12) {
			v.Routes = append(v.Routes, to(fmt.Sprintf("%s %d", v.Hosts[0], i), c.match()))
		}
		config.VirtualHosts = append(config.VirtualHosts, v)
		if c.IntN(4) == 0 {
			break
		}
	}
	return config
}

func (c choices) request() *route.Request {
	r := &route.Request{Header: header{}}
	if c.IntN(4) == 0 {
		r = call(pick(c, "s", "t", "u"), pick(c, "m", "n"), pick(c, "c", "d"))
		if c.IntN(4) == 0 {
			r.Bolt.Service = nil
		}
		r.Header = header{}
	} else {
		r.Method, r.Path = []byte(pick(c, "GET", "POST", "PUT")), []byte(c.path())
		r.Query = []byte(pick(c, "", "q", "q=1", "q=2&q=1", "r+s=a%20b&q", "r%20s=1", "&&q=a+b"))
		r.Host = []byte(pick(c, "h", "H:80", "x.h", "x.y.h", "x.b.h", "a.B.h:1", "b.h", "[::1]", "[::1]:80", "z", ""))
	}
	for _, name := range []string{"X", "Y"} {
		if c.IntN(2) == 0 {
			r.Header.(header)[name] = pick(c, "", "v", "vw", "w")
		}
	}
	return r
}

func (c choices) payload() []byte {
	return []byte(pick(c, ``, `{}`, `{"k":1}`, `{"k":2,"l":["x"]}`, `{"l":["x"],"k":1}`, `{"l":[],"k":"1"}`))
}

// TestNaive compares a table with naive. The payload arrives whole and in pieces.
func TestNaive(t *testing.T) {
	t.Parallel()
	c := choices{rand.New(rand.NewPCG(1, 2))}
	found, none := 0, 0
	for range 1500 {
		config := c.config()
		m := table(t, config).NewMatcher()
		for range 20 {
			r, payload := c.request(), c.payload()
			want := naive(config, r, payload)
			if got := inPieces(m, r, payload, c.IntN(len(payload)+1)); got != want {
				t.Fatalf("%s %s%s?%s %s %v, payload %s: got %s, want %s of %+v", r.Method, r.Host, r.Path, r.Query, r.Bolt, r.Header, payload, got, want, naiveHost(config, string(r.Host)))
			}
			if want == "none" {
				none++
			} else {
				found++
			}
		}
	}
	if found < 5000 || none < 2000 {
		t.Errorf("%d requests have a route, %d have none: too few of one kind to compare", found, none)
	}
}

// inPieces matches r with a payload that arrives in two pieces, split at cut.
func inPieces(m *route.Matcher, r *route.Request, payload []byte, cut int) string {
	got := result(m.Match(r, payload[:cut], false))
	if got == "need payload" {
		got = result(m.Continue(r, payload, true))
	}
	return got
}

// FuzzMatch matches requests of arbitrary bytes. It compares the result with naive for requests that naive supports.
func FuzzMatch(f *testing.F) {
	f.Add(uint64(1), "GET", "a.b.h", "/a/b", "q=1", "v", []byte(`{"k":1}`), uint8(3))
	f.Add(uint64(2), "POST", "[::1]:80", "//", "r%20s=%", "", []byte(`{"l":["x"]`), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, method, host, path, query, value string, payload []byte, cut uint8) {
		c := choices{rand.New(rand.NewPCG(seed, 0))}
		config := c.config()
		m := table(t, config).NewMatcher()
		r := &route.Request{Method: []byte(method), Host: []byte(host), Path: []byte(path), Query: []byte(query), Header: header{"X": value}}
		got := inPieces(m, r, payload, min(int(cut), len(payload)))
		if again := result(m.Match(r, payload, true)); again != got {
			t.Errorf("in pieces %s, at once %s", got, again)
		}
		plainHost := !strings.ContainsAny(host, ":[]") && host == strings.ToLower(host) && len(host) < 200 && !strings.HasPrefix(host, "*")
		plainQuery := !strings.ContainsAny(query, "%;") && strings.Count(query, "&") < 2
		plainPayload := len(payload) == 0 || bytes.Equal(payload, c.payload())
		if plainHost && plainQuery && plainPayload {
			if want := naive(config, r, payload); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}
