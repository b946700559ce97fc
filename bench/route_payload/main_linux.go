// Route_payload measures what payload routes cost a proxy: 10 to 10,000 of them, each for one value of a field.
package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
)

func main() { harness.Main(question()) }

// The figures. CPU time is the proxy's own.
const (
	perRequest = "CPU us/request"
	qps        = "requests/s"
)

// The rows.
const (
	ferryRow = "ferry"
	tableRow = "ferry's table alone, micro"
	eachRow  = "one route after the other, micro"
)

// numbers are the numbers of payload routes.
var numbers = []int{10, 100, 1000, 10_000}

func caseName(routes int) string { return fmt.Sprintf("%d routes", routes) }

// routesOf is the inverse of caseName.
func routesOf(name string) int {
	return numbers[slices.IndexFunc(numbers, func(n int) bool { return caseName(n) == name })]
}

func question() harness.Question {
	e := &experiment{}
	least, most := numbers[0], numbers[len(numbers)-1]
	q := harness.Question{
		Name:   "route_payload",
		Title:  "Routing by a field of the payload",
		Unit:   perRequest,
		Better: harness.Lower,
		About: "POST requests over HTTP/1.1 with an EdgeX event in JSON of 260 bytes. Each route has one value of the field deviceName and sets a header field with its name; " +
			"the last route has no condition. Every tenth request matches only that one, the others are spread over all routes. " +
			"Ferry is the binary with its limits, timeouts and metrics, on one core; CPU time is its own, user and system, by the kernel's account. " +
			"Client and server are in the process of this question. " +
			"The micro rows are CPU time of the search for the route alone: proxy/route.Table, and a loop that applies format.Matcher to one predicate after the other, as ferry did before.",
		Figures: []string{qps, harness.Foreign},
		Prepare: func(dir string) error {
			e.dir = dir
			return ferrynode.Build(dir)
		},
		Checks: []harness.Check{{Name: "each row finds the route that each of many payloads matches first, also the one without a condition", Run: e.check}},
		Contenders: []harness.Contender{
			{Name: ferryRow, Kind: harness.Ferry, Version: "this commit", Measure: e.measure},
			{Name: tableRow, Kind: harness.Ferry, Version: "this commit", Measure: micro(newTable)},
			{Name: eachRow, Kind: harness.Peer, Version: "this commit's format.Matcher", Measure: micro(newEach)},
		},
		Goals: []harness.Goal{
			harness.AtMost(1.2, fmt.Sprintf("CPU time of the proxy with %d payload routes, times that with %d", most, least), func(r *harness.Result) float64 {
				return r.Stat(ferryRow, caseName(most), perRequest).Median / r.Stat(ferryRow, caseName(least), perRequest).Median
			}),
		},
		Notes: []string{
			"Envoy, nginx and HAProxy have no row: none of them routes by a field of a body without a program in Lua, njs or WebAssembly that reads the whole body and decodes it.",
			"The route of each timed response is checked, too: the server returns the header field that the route has set.",
		},
	}
	for _, n := range numbers {
		q.Cases = append(q.Cases, caseName(n))
	}
	return q
}

// experiment measures the proxy.
type experiment struct {
	dir string // has the binary
}

func (e *experiment) measure(name string, budget time.Duration) (harness.Figures, error) {
	p, err := e.start(routesOf(name))
	if err != nil {
		return nil, err
	}
	defer p.stop()
	window := max(20*budget, 100*time.Millisecond) // a second
	if _, err := p.run(window / 4); err != nil {
		return nil, err
	}
	pids := p.process.Family()
	before, err := harness.Used(pids)
	if err != nil {
		return nil, err
	}
	began, err := p.process.CPU()
	if err != nil {
		return nil, err
	}
	requests, err := p.run(window)
	if err != nil {
		return nil, err
	}
	ended, err := p.process.CPU()
	if err != nil {
		return nil, err
	}
	after, err := harness.Used(pids)
	if err != nil {
		return nil, err
	}
	f := harness.Figures{perRequest: float64((ended - began).Nanoseconds()) / 1e3 / float64(requests), qps: float64(requests) / window.Seconds()}
	_, f[harness.Foreign] = before.Until(after)
	fmt.Fprintf(os.Stderr, "route_payload: %s: %.2f us, %.0f/s, foreign %.2f\n", name, f[perRequest], f[qps], f[harness.Foreign])
	return f, nil
}

// check sends payloads to all rows.
func (e *experiment) check() error {
	for _, n := range []int{numbers[0], numbers[len(numbers)-1]} {
		for _, open := range []func(int) (finder, error){newTable, newEach} {
			find, err := open(n)
			if err != nil {
				return err
			}
			if err := checkFinder(find, n, 300); err != nil {
				return err
			}
			if find([]byte(`{"deviceName":`)) != other {
				return fmt.Errorf("route_payload: %d routes: a payload that is no JSON matches a route with a condition", n)
			}
		}
		p, err := e.start(n)
		if err != nil {
			return err
		}
		_, err = p.run(200 * time.Millisecond)
		p.stop()
		if err != nil {
			return err
		}
	}
	return nil
}
