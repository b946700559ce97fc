package config

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// checkBound fails the test if a memory holds more than its bound: lists, and what entries hold, too.
func checkBound(t *testing.T, m *plainMemory) {
	t.Helper()
	held := map[*plainList]bool{}
	for _, l := range m.lists {
		held[l] = true
	}
	for _, e := range m.entries {
		held[e.list] = true
	}
	size := 0
	for l := range held {
		size += l.entries.Len()
	}
	if most := 2*m.used + 100; size > most || len(m.entries) > size || m.fresh != nil {
		t.Fatalf("the memory holds %d routes of %d lists and knows %d, want at most %d", size, len(held), len(m.entries), most)
	}
}

// TestPlainMemory changes a text again and again: what is shared with the configuration before is what a new reader reads.
func TestPlainMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	entries := strings.SplitAfter(gateway(200), "      - hosts:")
	memory := new(plainMemory)
	last := readPlain(strings.Join(entries, ""), memory)
	for range 50 {
		i, k := 1+r.IntN(len(entries)-1), 1+r.IntN(len(entries)-1)
		before := strings.Join(entries, "")
		switch r.IntN(4) {
		case 0:
			entries[i] = strings.Replace(entries[i], "/service-", "/changed-", 1+r.IntN(10))
		case 1:
			if i != len(entries)-1 && k != len(entries)-1 { // the last one has no next entry behind it
				entries[i], entries[k] = entries[k], entries[i]
			}
		case 2:
			entries[i] = strings.Replace(entries[i], "cluster: web", "cluster: spare # another", 1)
		case 3:
			entries[i] = strings.Replace(entries[i], "    timeout: 15s\n", "    timeout: 20s\n      response: {remove: [Server]}\n", 1)
		}
		text := strings.Join(entries, "")
		got, want := readPlain(text, memory), readPlain(text, new(plainMemory))
		if (got == nil) != (want == nil) || !reflect.DeepEqual(got, want) {
			t.Fatalf("got\n%+v\nwant\n%+v of\n%s", got, want, text)
		}
		if got == nil {
			entries = strings.SplitAfter(before, "      - hosts:")
			continue
		}
		last = got
		checkBound(t, memory)
	}
	again := readPlain(strings.Join(entries, ""), memory)
	for i, host := range again.Proxy.Listeners[0].VirtualHosts {
		if was := last.Proxy.Listeners[0].VirtualHosts[i]; &was.Routes[0] != &host.Routes[0] {
			t.Errorf("host %d: the routes are not shared", i)
		}
	}
}

// oneHost returns a configuration with one list of n routes, one of which has another cluster.
func oneHost(n, other int) string {
	var b strings.Builder
	b.WriteString("proxy:\n  clusters: [{name: web, endpoints: [{address: 127.0.0.1:1}]}]\n  listeners:\n  - address: 127.0.0.1:2\n    protocol: http1\n    routes:\n")
	for i := range n {
		cluster := "web"
		if i == other {
			cluster = "other"
		}
		fmt.Fprintf(&b, "    - match: {prefix: /%d}\n      cluster: %s\n", i, cluster)
	}
	return b.String()
}

// TestPlainMemoryOfLists: a list that is made again for each change is not kept for each.
func TestPlainMemoryOfLists(t *testing.T) {
	memory := new(plainMemory)
	for i := range 200 {
		text := oneHost(200, i)
		if readPlain(text, memory) == nil {
			t.Fatal("not plain")
		}
		checkBound(t, memory)
		readPlain(text+"names: &a [b]\n", memory) // what is refused leaves nothing, either
		checkBound(t, memory)
	}
}

// hostsOf returns a configuration whose hosts have these routes.
func hostsOf(lists ...string) string {
	text := "proxy:\n  clusters: [{name: web, endpoints: [{address: 127.0.0.1:1}]}]\n  listeners:\n  - address: 127.0.0.1:2\n    protocol: http1\n    virtual_hosts:\n"
	for i, list := range lists {
		text += fmt.Sprintf("    - hosts: [h%d]\n      routes:\n%s", i, list)
	}
	return text
}

// TestPlainMemoryShares: the lists of the configuration before are found, whatever else was read meanwhile.
func TestPlainMemoryShares(t *testing.T) {
	health := "      - {match: {path: /health}, respond: {status: 200}}\n"
	a, b := health+"      - {match: {prefix: /a}, cluster: web}\n", health+"      - {match: {prefix: /b}, cluster: web}\n"
	for name, between := range map[string]string{
		"nothing":             hostsOf(a, b),
		"another route":       hostsOf(strings.Replace(a, "/a", "/c", 1), b),
		"a refused text":      hostsOf(a, b) + "unknown: x\n",
		"an early refusal":    "unknown: x\n" + hostsOf(a, b),
		"the other order":     hostsOf(b, a),
		"one host is missing": hostsOf(b),
	} {
		t.Run(name, func(t *testing.T) {
			memory := new(plainMemory)
			first := readPlain(hostsOf(a, b), memory)
			readPlain(between, memory)
			again := readPlain(hostsOf(a, b), memory)
			for i, host := range again.Proxy.Listeners[0].VirtualHosts {
				if was := first.Proxy.Listeners[0].VirtualHosts[i]; &was.Routes[0] != &host.Routes[0] {
					t.Errorf("host %d: the routes are not shared", i)
				}
			}
			if !reflect.DeepEqual(again, readPlain(hostsOf(a, b), new(plainMemory))) {
				t.Errorf("got %+v", again.Proxy)
			}
		})
	}
}
