package main

import (
	"fmt"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/all"
	"example.com/ferry/format/json"
	"example.com/ferry/proxy/route"
)

// other is the name of the route without a condition.
const other = "other"

// routeName returns the name of the route that message i of a table with n payload routes matches first.
func routeName(i, n int) string {
	if i%10 == 9 {
		return other
	}
	return fmt.Sprint("device-", i*7919%n) // 7919 is prime: all routes have their turn
}

// message returns message i.
func message(i, n int) []byte {
	device := routeName(i, n)
	if device == other {
		device = fmt.Sprint("unknown-", i)
	}
	return fmt.Appendf(nil, `{"apiVersion":"v3","id":"d5471d59-2810-419a-8744-18eb8fa03465","deviceName":"%s","profileName":"pump","sourceName":"level",`+
		`"origin":1602168089665565200,"readings":[{"resourceName":"level","valueType":"Float64","value":"30.5"}],"tags":{"floor":"2"}}`, device)
}

// where is the predicate of route i.
func where(i int) string { return fmt.Sprintf(`deviceName == "device-%d"`, i) }

// finder returns the name of the route of a payload.
type finder func(payload []byte) string

// newTable finds routes with ferry's table.
func newTable(n int) (finder, error) {
	v := route.VirtualHost{Hosts: []string{"*"}}
	for i := range n {
		v.Routes = append(v.Routes, route.Rule{
			Name: fmt.Sprint("device-", i), Cluster: "c", Match: route.Match{Payload: &route.Payload{Format: "json", Where: where(i)}},
		})
	}
	v.Routes = append(v.Routes, route.Rule{Name: other, Cluster: "c"})
	t, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{v}}, all.Formats())
	if err != nil {
		return nil, err
	}
	m := t.NewMatcher()
	request := &route.Request{Method: []byte("POST"), Host: []byte("a"), Path: []byte("/events")}
	return func(payload []byte) string {
		found, _ := m.Match(request, payload, true)
		if found == nil {
			return ""
		}
		return found.Name
	}, nil
}

// newEach tries one predicate after the other.
func newEach(n int) (finder, error) {
	names, matchers := make([]string, n), make([]*format.Matcher, n)
	for i := range n {
		p, err := field.ParsePredicate(where(i))
		if err != nil {
			return nil, err
		}
		names[i], matchers[i] = fmt.Sprint("device-", i), format.NewMatcher(json.Format{}, p)
	}
	return func(payload []byte) string {
		for i, m := range matchers {
			if ok, _, err := m.Match(payload); ok && err == nil {
				return names[i]
			}
		}
		return other
	}, nil
}

func checkFinder(find finder, n, messages int) error {
	for i := range messages {
		if got, want := find(message(i, n)), routeName(i, n); got != want {
			return fmt.Errorf("route_payload: %d routes, message %d: got %q, want %q", n, i, got, want)
		}
	}
	return nil
}

// micro measures a finder.
func micro(open func(n int) (finder, error)) func(string, time.Duration) (harness.Figures, error) {
	return func(name string, budget time.Duration) (harness.Figures, error) {
		n := routesOf(name)
		find, err := open(n)
		if err != nil {
			return nil, err
		}
		const some = 200
		messages, names := make([][]byte, some), make([]string, some)
		for i := range messages {
			messages[i], names[i] = message(i, n), routeName(i, n)
		}
		next := 0
		var failed error
		f := harness.Time(func(times int) {
			for range times {
				if got := find(messages[next]); got != names[next] {
					failed = fmt.Errorf("route_payload: %s: got %q, want %q", name, got, names[next])
				}
				next = (next + 1) % some
			}
		}, budget)
		return harness.Figures{perRequest: f[harness.CPUPerOp] / 1e3, qps: 1e9 / f[harness.NsPerOp]}, failed
	}
}
