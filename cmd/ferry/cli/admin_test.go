package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/node/admin"
)

// TestAdmin operates a node with a proxy and a listener for streams.
func TestAdmin(t *testing.T) {
	t.Parallel()
	server := webServer(t, "a")
	n := runNode(t, fmt.Sprintf(proxyYAML, server)+"listeners: [{address: 'tcp://127.0.0.1:0'}]\nidentities: [{name: bo, token: secret-of-bo-0123456789}]\n")
	at := regexp.MustCompile(`dashboard: (\S+)`).FindStringSubmatch(n.welcome)[1]
	data := filepath.Join(n.dir, "ferry-data")
	do := func(args ...string) outcome {
		return ferryWith("", append(append([]string{"admin"}, args...), "-a", at, "--data-dir", data)...)
	}
	expect := func(pattern string, args ...string) {
		t.Helper()
		if got := do(args...); got.status != 0 || !regexp.MustCompile(pattern).MatchString(got.stdout) {
			t.Errorf("%q: %+v, want status 0 and %s", args, got, pattern)
		}
	}
	web := "http://" + regexp.MustCompile(`http1://(\S+)`).FindStringSubmatch(n.welcome)[1]
	keeps := &http.Client{Transport: &http.Transport{}} // servers of other tests close the idle connections of the default one
	status := func() int {
		t.Helper()
		r, err := keeps.Get(web)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body) // so that the connection stays
		r.Body.Close()
		return r.StatusCode
	}

	expect(`^info\n$`, "log-level")
	expect(`^debug, and info again at \d\d:\d\d:\d\d\n$`, "log-level", "debug", "--for", "10m")
	expect(`^\{"level":"warn","configured":"info"\}\n$`, "log-level", "warn", "-o", "json")
	expect(`^warn, and info in the configuration\n$`, "log-level")
	expect(`^info\n$`, "log-level", "info")

	expect(`(?m)^web +`+regexp.QuoteMeta(server)+` +up +1 +0 `, "endpoints")
	if got := status(); got != 200 {
		t.Fatalf("status %d before draining", got)
	}
	if got := do("endpoint", "drain", "web", server); got.status != 0 || !strings.Contains(got.stdout, "drained") || !strings.Contains(got.stderr, "clients get 503") {
		t.Errorf("the last endpoint was drained: %+v, want a warning", got)
	}
	if got := status(); got != 503 {
		t.Errorf("status %d without an endpoint, want 503", got)
	}
	expect(`"drained":true`, "endpoints", "web", "-o", "json")
	expect(` up, weight 1, 0 requests in flight; endpoints of web that get requests: 1\n$`, "endpoint", "undrain", "web", server)
	if got := status(); got != 200 {
		t.Errorf("status %d after draining, want 200", got)
	}
	expect(`"weight":7,"configured_weight":1`, "endpoint", "weight", "web", server, "7", "-o", "json")
	expect(` 7 \(1\) `, "endpoints", "web")
	expect(`weight 1`, "endpoint", "weight", "web", server)

	expect(`(?m)^p\S+ +http1 .* idle$`, "connections", "--protocol", "http1")
	var list admin.ConnectionList
	if err := json.Unmarshal([]byte(do("connections", "-o", "json", "--protocol", "http1").stdout), &list); err != nil || list.Matched != 1 || len(list.Connections) != 1 {
		t.Fatalf("%+v, %v, want one connection", list, err)
	}
	expect(`closed\n$`, "close", list.Connections[0].ID)
	if got := do("close", list.Connections[0].ID); got.status != statusFailed || !strings.Contains(got.stderr, "no connection") {
		t.Errorf("a connection that is closed: %+v", got)
	}
	sub := ferryProcess(t.Context(), "sub", "-a", regexp.MustCompile(`tcp://\S+`).FindString(n.welcome), "--data-dir", data, "a/#")
	if err := sub.Start(); err != nil {
		t.Fatal(err)
	}
	subscriber := func(not string) string { // the ID of the subscriber's connection
		t.Helper()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			got := do("connections", "-o", "json", "--protocol", "tcp", "--identity", "local")
			if err := json.Unmarshal([]byte(got.stdout), &list); err != nil {
				t.Fatalf("%v: %+v", err, got)
			}
			for _, c := range list.Connections {
				if c.ID != not && c.Subscriptions == 1 {
					return c.ID
				}
			}
		}
		t.Fatalf("no subscriber among %+v", list)
		return ""
	}
	first := subscriber("")
	expect(`closed\n$`, "close", first)
	subscriber(first) // it connects again

	if got := do("config"); got.status != 0 || strings.Contains(got.stdout, "secret-of-bo") || !strings.Contains(got.stdout, "name: bo") || !strings.Contains(got.stdout, "max_frame: 1MiB") {
		t.Errorf("config: %+v, want defaults and no secret", got)
	}
	expect(`^\{.*"listeners":`, "config", "-o", "json")

	file := filepath.Join(t.TempDir(), "heap.pprof")
	if got := do("profile", "heap", file); got.status != 0 {
		t.Errorf("profile: %+v", got)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "\x1f\x8b") {
		t.Errorf("%d bytes, %v, want a profile", len(text), err)
	}
	if got := do("profile", "block", "--seconds", "1", "-"); got.status != 0 || !strings.HasPrefix(got.stdout, "\x1f\x8b") {
		t.Errorf("profile of waiting: status %d, %d bytes, want a profile", got.status, len(got.stdout))
	}
}

// TestAdminErrors checks wrong command lines, a node that does not run, and a wrong token.
func TestAdminErrors(t *testing.T) {
	t.Parallel()
	n := runNode(t, "listeners: [{address: 'tcp://127.0.0.1:0'}]\nadmin: {address: '127.0.0.1:0'}\n")
	at := regexp.MustCompile(`dashboard: (\S+)`).FindStringSubmatch(n.welcome)[1]
	data := filepath.Join(n.dir, "ferry-data")
	for _, row := range []struct {
		args   string
		status int
		want   string
	}{
		{"log-level loud", statusUsage, "loud"},
		{"log-level --for 1m", statusUsage, "name the level"},
		{"log-level debug --for 1ms", statusFailed, "for: want a time"},
		{"endpoint explode web a", statusUsage, "explode"},
		{"endpoint weight web a 1001", statusUsage, "1 to 1000"},
		{"endpoint drain web a 5", statusUsage, "only weight"},
		{"endpoint drain web", statusUsage, "<address>"},
		{"endpoints", statusFailed, "no proxy"},
		{"endpoint drain web a", statusFailed, "no proxy"},
		{"connections --limit 0", statusUsage, "1 to 10000"},
		{"close s4000000000", statusFailed, "no connection s4000000000"},
		{"close ../../x", statusFailed, "no connection"},
		{"profile heap --seconds 3", statusUsage, "of the moment"},
		{"profile cpu --seconds 301", statusUsage, "1 to 300"},
		{"profile fuel", statusUsage, "fuel"},
		{"profile heap /nowhere/at/all", statusFailed, "/nowhere/at/all"},
	} {
		got := ferryWith("", append(append([]string{"admin"}, strings.Fields(row.args)...), "-a", at, "--data-dir", data)...)
		if got.status != row.status || !strings.Contains(got.stderr, row.want) || got.stdout != "" {
			t.Errorf("%s: %+v, want status %d and %q", row.args, got, row.status, row.want)
		}
	}
	for _, args := range []string{"log-level debug", "config", "close s1"} {
		got := ferryWith("", append(append([]string{"admin"}, strings.Fields(args)...), "-a", at, "--data-dir", t.TempDir())...)
		if got.status != statusFailed || !strings.Contains(got.stderr, "401") || !strings.Contains(got.stderr, "--admin-token-file") {
			t.Errorf("%s without the token: %+v, want 401 and advice", args, got)
		}
	}
	if got := ferryWith("", "admin", "endpoints", "-a", "http://127.0.0.1:1"); got.status != statusFailed || !strings.Contains(got.stderr, "is a node running") {
		t.Errorf("without a node: %+v", got)
	}
}

// TestAdminHostileNames: the name of a client reaches the terminal without control characters.
func TestAdminHostileNames(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"open":1,"matched":1,"connections":[{"id":"s1","protocol":"mqtt","client":"a\u001b]0;x\u0007\tb\nc\u202ed"}]}`)
	}))
	defer server.Close()
	got := ferryWith("", "admin", "connections", "-a", server.URL, "--data-dir", t.TempDir())
	if got.status != 0 || !strings.Contains(got.stdout, "a?]0;x??b?c?d") || strings.ContainsAny(got.stdout, "\x1b\x07\t\u202e") || strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("%+v, want one line without control characters", got)
	}
}

// TestAdminAddress names the admin server by an argument, by the flag, and by both.
func TestAdminAddress(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.NotFound(w, r)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range [][]string{{"top", "-o", "json"}, {"upgrade"}, {"diff", "-c", file}, {"doctor"}, {"admin", "connections"}, {"admin", "config"}} {
		for _, row := range []struct {
			args  []string
			reach bool
		}{
			{[]string{server.URL}, true},
			{[]string{"-a", server.URL}, true},
			{[]string{"--admin=" + server.URL, server.URL}, true},
			{[]string{"-a", server.URL, "http://127.0.0.1:1"}, false},
		} {
			before := requests.Load()
			got := ferryWith("", slices.Concat(verb, []string{"--data-dir", t.TempDir()}, row.args)...)
			if reached := requests.Load() > before; reached != row.reach {
				t.Errorf("%s %s: reached the server: %v, want %v: %+v", verb, row.args, reached, row.reach, got)
			}
			if !row.reach && (got.status != statusUsage || !strings.Contains(got.stderr, "named twice")) {
				t.Errorf("%s %s: %+v, want status %d", verb, row.args, got, statusUsage)
			}
		}
	}
}
