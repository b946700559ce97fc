package top

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"example.com/ferry/node/admin"
)

var update = flag.Bool("update", false, "rewrite the views in testdata")

// golden compares a view with the file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)

// sampleAt returns the state of a busy node some seconds after noon: counters grow by fixed rates.
func sampleAt(seconds int) *Sample {
	n := uint64(seconds)
	return &Sample{
		Time: noon.Add(time.Duration(seconds) * time.Second),
		Streams: &admin.StreamsState{
			Now: float64(100 + seconds), Engine: admin.StreamEngine{Name: "nats", Address: "embedded", Durable: true, Sync: "always", MaxReplicas: 1},
			Streams: []admin.StoredState{
				{Name: "dead", Tags: []string{"dead/#"}, Records: 3, Bytes: 912, First: 1, Last: 3, Appended: 3},
				{
					Name: "orders", Tags: []string{"orders/#"}, Records: 1_204_331, Bytes: 412 << 20, First: 5, Last: 1_204_335, Appended: 1000 + 1234*n,
					Durables: []admin.DurableState{
						{Name: "billing", Here: true, Lag: 1_520, Held: 64, Delivered: 900 * n, Redelivered: 12, DeadLetters: 3, Members: []admin.MemberState{{Client: "a"}, {Client: "b"}}},
						{Name: "search index", Lag: 88_120},
					},
				},
				{Name: "readings", Tags: []string{"sensors/#"}, Records: 5, Bytes: 100, Appended: 5, Pending: 1 << 20, Error: "no space left on device"},
			},
		},
		Functions: []admin.Function{
			{Name: "averages", Observe: []string{"sensors/#"}, CPU: "light", Running: true, Handled: 40 * n, Active: 1, Took: took(40 * n)},
			{Name: "thumbs", Observe: []string{"images/#", "photos/#"}, CPU: "worker", Running: true, Handled: 3 * n, Failed: n, Queued: 12, Active: 4, Took: took(3 * n), Restarts: 2, LastError: "worker: thumbs died: exit status 3", Processes: &admin.Processes{Wanted: 4, Ready: 3}},
			{Name: "sums", Observe: []string{"checksum/#"}, CPU: "heavy", Error: "node: function sums: refused", LastError: "node: function sums: refused"},
			{Name: "off", Observe: []string{"off"}, CPU: "light"},
		},
		Proxy: &admin.ProxyState{
			Now:       float64(100 + seconds),
			Listeners: []admin.ProxyListener{{Name: "public", Connections: 17}},
			Routes: []admin.ProxyRoute{
				route("events", 200*n, 2*n), route("static", 3000*n, 0), route("idle", 0, 0),
			},
			Clusters: []admin.ProxyCluster{{
				Name: "web", Active: 4, Waiting: 2,
				Endpoints: []admin.ProxyEndpoint{
					{Address: "10.0.0.1:80", Healthy: true, Connections: 8, Requests: map[string]int64{"success": 3000 * int64(n)}},
					{Address: "10.0.0.2:80", Healthy: true, EjectedFor: 12.5, Requests: map[string]int64{"failure": 200 * int64(n)}, Failed: 200 * int64(n), Ejections: 1, LastError: "its response is status 502"},
					{Address: "10.0.0.3:80", Requests: map[string]int64{}},
				},
			}, {Name: "calls", Endpoints: []admin.ProxyEndpoint{{Address: "[2001:db8::1]:12200", Healthy: true, Drained: true}}}},
		},
		Tags: []Tag{
			{Name: "orders/1", In: Traffic{600 * n, 160_000 * n}, Out: Traffic{1200 * n, 320_000 * n}},
			{Name: "sensors/a-very-long-name-of-a-machine-that-does-not-fit-into-eighty-columns/cpu", In: Traffic{10 * n, 9000 * n}},
			{Name: "sensors/\x1b[2Jx/\u202e", In: Traffic{1, 1}},
		},
	}
}

func route(name string, requests, failed uint64) admin.ProxyRoute {
	return admin.ProxyRoute{
		Listener: "public", Name: name, Failed: failed, In: requests * 300, Out: requests * 2000,
		Took: took(requests),
	}
}

func took(n uint64) admin.Histogram {
	return admin.Histogram{Count: n, Buckets: []admin.Bucket{{UpTo: 0.001, Count: n / 2}, {UpTo: 0.01, Count: n * 99 / 100}, {UpTo: 0.1, Count: n}}}
}

// newTestModel returns the model of a node after 5 s.
func newTestModel(t *testing.T, width, height int) *model {
	t.Helper()
	m := newModel(t.Context(), Config{Address: "http://127.0.0.1:4195", Interval: time.Second}, sampleAt(0))
	m.clock = func() time.Time { return noon.Add(6 * time.Second) }
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	m.Update(sampled{sample: sampleAt(5)})
	return m
}

// press sends keys, as bubbletea names them.
func press(m *model, keys ...string) tea.Cmd {
	codes := map[string]tea.KeyPressMsg{
		"tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "esc": {Code: tea.KeyEscape}, "enter": {Code: tea.KeyEnter},
		"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "end": {Code: tea.KeyEnd},
		"home": {Code: tea.KeyHome}, "pgdown": {Code: tea.KeyPgDown}, "backspace": {Code: tea.KeyBackspace}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
	}
	var cmd tea.Cmd
	for _, k := range keys {
		msg, ok := codes[k]
		if !ok {
			msg = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		}
		_, cmd = m.Update(msg)
	}
	return cmd
}

// view returns what the terminal shows, without colors.
func view(t *testing.T, m *model) string {
	t.Helper()
	lines := strings.Split(m.View().Content, "\n")
	if len(lines) != m.height {
		t.Errorf("the view has %d lines in a terminal of %d", len(lines), m.height)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > m.width {
			t.Errorf("line %d is %d wide in a terminal of %d: %q", i+1, w, m.width, l)
		}
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestViews(t *testing.T) {
	t.Parallel()
	for _, size := range []struct {
		name          string
		width, height int
	}{{"80x24", 80, 24}, {"140x40", 140, 40}, {"40x10", 40, 10}} {
		for i, name := range []string{"streams", "tags", "functions", "routes", "endpoints"} {
			m := newTestModel(t, size.width, size.height)
			press(m, string(rune('1'+i)))
			golden(t, name+"-"+size.name+".txt", view(t, m))
		}
	}
}

// TestTinyTerminals: no size makes the view panic, and nothing exceeds it.
func TestTinyTerminals(t *testing.T) {
	t.Parallel()
	m := newTestModel(t, 80, 24)
	for width := 1; width < 60; width++ {
		for height := 1; height < 9; height++ {
			m.Update(tea.WindowSizeMsg{Width: width, Height: height})
			for range m.tabs {
				press(m, "tab", "down", "s")
				view(t, m)
			}
		}
	}
}

func TestColors(t *testing.T) {
	t.Parallel()
	m := newTestModel(t, 80, 24)
	golden(t, "streams-colors.txt", strings.ReplaceAll(m.View().Content, "\x1b", "ESC")+"\n")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		keys []string
		want []string // parts of the view, in their order
	}{
		{"turn", []string{"tab", "tab"}, []string{"FUNCTION", "averages"}},
		{"turn back", []string{"left"}, []string{"ENDPOINT", "web"}},
		{"turn around", []string{"right", "right", "right", "right", "right"}, []string{"STREAM", "orders"}},
		{"sort by rate", []string{"s"}, []string{"RATE▾", "orders", "dead"}},
		{"reversed", []string{"s", "S"}, []string{"RATE▴", "dead", "orders"}},
		{"sort by the first again", []string{"s", "s", "s", "s", "s", "s", "s", "s"}, []string{"STREAM▾", "dead", "orders", "readings"}},
		{"names reversed", []string{"S"}, []string{"STREAM▴", "readings", "orders", "dead"}},
		{"filter", []string{"/", "I", "N", "D"}, []string{"orders", "└ search index", "/IND"}},
		{"filter, corrected", []string{"/", "d", "x", "backspace", "enter"}, []string{"dead", "orders", "filter: d"}},
		{"q in a filter", []string{"/", "q"}, []string{"Nothing matches q.", "/q"}},
		{"filter removed", []string{"/", "x", "y", "esc"}, []string{"dead", "orders", "readings"}},
		{"filter removed later", []string{"/", "x", "enter", "esc"}, []string{"dead", "orders", "readings"}},
		{"tag of an attacker", []string{"2"}, []string{"sensors/?[2Jx/?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newTestModel(t, 100, 24)
			if cmd := press(m, c.keys...); cmd != nil {
				t.Errorf("a command: %v", cmd)
			}
			rest := view(t, m)
			for _, want := range c.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("%q is not, or not in this order, in\n%s", want, view(t, m))
				}
				rest = after
			}
		})
	}
	for _, key := range []string{"q", "ctrl+c"} {
		cmd := press(newTestModel(t, 80, 24), key)
		if cmd == nil {
			t.Errorf("%s does nothing", key)
		} else if _, quit := cmd().(tea.QuitMsg); !quit {
			t.Errorf("%s does not quit", key)
		}
	}
}

func TestScroll(t *testing.T) {
	t.Parallel()
	m := newTestModel(t, 80, chrome+2)
	for _, c := range []struct{ key, first, position string }{
		{"", "dead", "1-2 of 5"},
		{"up", "dead", "1-2 of 5"},
		{"down", "orders", "2-3 of 5"},
		{"pgdown", "└ search index", "4-5 of 5"},
		{"end", "└ search index", "4-5 of 5"},
		{"down", "└ search index", "4-5 of 5"},
		{"home", "dead", "1-2 of 5"},
	} {
		if c.key != "" {
			press(m, c.key)
		}
		lines := strings.Split(view(t, m), "\n")
		if first := strings.TrimSpace(lines[4]); !strings.HasPrefix(first, c.first) || !strings.Contains(lines[6], c.position) {
			t.Errorf("%s: got %q and %q, want %q and %q", c.key, first, lines[6], c.first, c.position)
		}
	}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	press(m, "end")
	if first := strings.Split(view(t, m), "\n")[4]; !strings.HasPrefix(first, " dead") {
		t.Errorf("a larger terminal shows all: got %q first", first)
	}
}

// TestReconnect: the view keeps what it has while the node does not respond, says since when, and goes on afterwards. Rates begin
// again after a restart of the node.
func TestReconnect(t *testing.T) {
	t.Parallel()
	m := newTestModel(t, 100, 24)
	refused := fmt.Errorf("%w\nis a node running?", &url.Error{Op: "Get", URL: "http://127.0.0.1:4195/metrics", Err: errors.New("connection refused")})
	if _, cmd := m.Update(sampled{err: refused}); cmd == nil {
		t.Error("no further request after a failed one")
	}
	m.clock = func() time.Time { return noon.Add(time.Hour) }
	m.Update(sampled{err: refused})
	if got := view(t, m); !strings.Contains(got, "no response since 12:00:06: connection refused\n") || !strings.Contains(got, "orders") {
		t.Errorf("got\n%s", got)
	}
	restarted := sampleAt(0)
	restarted.Streams.Now, restarted.Time = 1, noon.Add(time.Hour)
	m.Update(sampled{sample: restarted})
	if got := view(t, m); !strings.Contains(got, "live 13:00:00") || strings.Contains(got, "/s") {
		t.Errorf("after a restart: got\n%s", got)
	}
	m.Update(sampled{sample: &Sample{Time: noon.Add(2 * time.Hour), Tags: []Tag{}}})
	if got := view(t, m); !strings.Contains(got, "1 Tags") || strings.Contains(got, "Streams") || !strings.Contains(got, "No messages yet.") {
		t.Errorf("another node: got\n%s", got)
	}
	m.Update(sampled{sample: &Sample{Time: noon.Add(3 * time.Hour)}})
	if got := view(t, m); !strings.Contains(got, "This node has no streams") {
		t.Errorf("a node without parts: got\n%s", got)
	}
}
