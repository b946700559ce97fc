package route_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/ferry/format/all"
	"example.com/ferry/proxy/route"
)

// oneByOne is a table that evaluates each payload route on its own.
func oneByOne(t testing.TB, c *route.Config) *route.Table {
	t.Helper()
	table, err := route.NewWithGroups(c, all.Formats(), math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// payloadRule returns a rule with a predicate whose number is one of weights, or rarely another one, and often with conditions that come
// before it.
func (c choices) payloadRule(weights []int) (m route.Match) {
	n := c.IntN(40)
	where := []string{
		fmt.Sprintf(`k == %d`, n), fmt.Sprintf(`k == "v%d"`, n), fmt.Sprintf(`k > %d && k < %d`, n, n+3), fmt.Sprintf(`prefix(k, "v%d")`, n),
		fmt.Sprintf(`k == %d && l.0 == "x%d"`, n%5, n), fmt.Sprintf(`l.0 == "x%d" || k == %d`, n, n), fmt.Sprintf(`!(k == %d) && exists(l.0)`, n),
		fmt.Sprintf(`late == %d`, n), fmt.Sprintf(`!exists(late) && k == %d`, n), `exists(k) || !exists(k)`, fmt.Sprintf(`!(late == %d)`, n),
	}
	if c.IntN(60) == 0 {
		weights = []int{6, 8, 9, 10}
	}
	m.Payload = &route.Payload{Format: pick(c, "json", "json", "json", "json", "msgpack"), Where: where[pick(c, weights...)]}
	switch c.IntN(10) {
	case 0:
		m.Path = pick(c, "/a", "/a/b")
	case 1, 2:
		m.Prefix = pick(c, "/", "/a")
	case 3:
		m.Methods = []string{"GET"}
	case 4:
		m.Headers = []route.Header{{Name: "x", Value: "v"}}
	}
	return m
}

func (c choices) groupPayload() string {
	k := pick(c, fmt.Sprint(c.IntN(45)), fmt.Sprintf(`"v%d"`, c.IntN(45)), `"7"`, `[1]`, `null`)
	fields := []string{`"k":` + k, fmt.Sprintf(`"l":["x%d"]`, c.IntN(45))}
	if c.IntN(3) == 0 {
		fields = fields[c.IntN(2):]
	}
	c.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	if c.IntN(20) == 0 { // beyond what conditions see
		fields = append(fields, `"pad":"`+strings.Repeat("x", route.MaxPayload)+`"`)
	}
	if c.IntN(2) == 0 {
		fields = append(fields, fmt.Sprintf(`"late":%d`, c.IntN(45)))
	}
	text := "{" + strings.Join(fields, ",") + "}"
	switch c.IntN(12) {
	case 0:
		return text[:len(text)/2] // malformed
	case 1:
		return strings.Replace(text, ":", "::", 1)
	}
	return text
}

// TestGroups compares tables with groups with tables that evaluate one route after the other: after each piece of the payload both
// have the same route, or both need more.
func TestGroups(t *testing.T) {
	t.Parallel()
	c := choices{rand.New(rand.NewPCG(3, 4))}
	counts := map[string]int{}
	for range 120 {
		v := route.VirtualHost{Hosts: []string{"*"}}
		weights := pick(c, []int{0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4, 5, 7, 7}, []int{4}, []int{0, 1, 2, 3}, []int{4, 4, 4, 6}, []int{7, 8}, []int{7, 8, 10})
		for i := range 20 + c.IntN(150) {
			m := c.payloadRule(weights)
			if c.IntN(25) == 0 {
				m.Payload = nil
				if m.Path == "" && m.Prefix == "" && m.Methods == nil && m.Headers == nil {
					m.Path = "/a"
				}
			}
			v.Routes = append(v.Routes, to(fmt.Sprint(i), m))
		}
		config := &route.Config{VirtualHosts: []route.VirtualHost{v}}
		grouped, err := route.NewWithGroups(config, all.Formats(), pick(c, 2, 16))
		if err != nil {
			t.Fatal(err)
		}
		m, reference := grouped.NewMatcher(), oneByOne(t, config).NewMatcher()
		for range 60 {
			r := get(pick(c, "GET", "POST") + " h" + pick(c, "/", "/a", "/a/b", "/c"))
			if c.IntN(2) == 0 {
				r = with(r, "X", "v")
			}
			payload := c.groupPayload()
			next, want := m.Match, reference.Match
			for end, ended := 0, false; !ended; next, want = m.Continue, reference.Continue {
				end += c.IntN(1 + len(payload) - end)
				if c.IntN(4) == 0 {
					end = len(payload)
				}
				whole := end == len(payload) && c.IntN(3) > 0
				got, expected := result(next(r, []byte(payload)[:end], whole)), result(want(r, []byte(payload)[:end], whole))
				if got != expected {
					t.Fatalf("%s %s with %.200q, %d bytes of %d: got %s, want %s", r.Method, r.Path, payload, end, len(payload), got, expected)
				}
				ended = expected != "need payload"
				counts[expected]++
			}
		}
	}
	if counts["none"] < 500 || counts["need payload"] < 1000 || len(counts) < 100 {
		t.Errorf("%d without a route, %d that need more, %d different results: too few of one kind to compare", counts["none"], counts["need payload"], len(counts))
	}
}

// manyRoutes returns a table of n payload routes on one field, and one for all others.
func manyRoutes(n int) *route.Config {
	var rules []route.Rule
	for i := range n {
		rules = append(rules, to(fmt.Sprint("device-", i), where("json", fmt.Sprintf(`deviceName == "device-%d"`, i))))
	}
	return host(append(rules, to("other", route.Match{}))...)
}

func TestGroupsAllocateNothing(t *testing.T) {
	m := table(t, manyRoutes(1000)).NewMatcher()
	r, payload := get("POST a/events"), []byte(`{"id":"4f1d","deviceName":"device-777","readings":[]}`)
	if n := testing.AllocsPerRun(100, func() {
		if route, _ := m.Match(r, payload, true); route == nil || route.Name != "device-777" {
			t.Fatalf("got %+v", route)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPayloadRoutes(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		config := manyRoutes(n)
		for name, t := range map[string]*route.Table{"grouped": table(b, config), "one-by-one": oneByOne(b, config)} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				m := t.NewMatcher()
				r := get("POST a/events")
				r.Header = view{}
				payloads := make([][]byte, 64)
				for i := range payloads {
					payloads[i] = fmt.Appendf(nil, `{"id":"4f1d","deviceName":"device-%d","readings":[]}`, i*n/len(payloads))
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if route, _ := m.Match(r, payloads[i%len(payloads)], true); route == nil || route.Index == n {
						b.Fatal("another route")
					}
				}
			})
		}
	}
}
