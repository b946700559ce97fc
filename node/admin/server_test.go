package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/broker/stats"
	"example.com/ferry/cpu"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

// start serves cfg on a free port until the test ends.
func start(t *testing.T, cfg Config) (s *Server, url string) {
	t.Helper()
	cfg.Address = "127.0.0.1:0"
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s, "http://" + s.Addr().String()
}

func do(t *testing.T, method, url string, header ...string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	return response(t, r)
}

// response sends a request and returns the response to it.
func response(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

func TestProbes(t *testing.T) {
	s, url := start(t, Config{})
	for _, c := range []struct {
		path   string
		ready  bool
		status int
		body   string
	}{
		{"/ping", false, 200, "pong"},
		{"/ready", false, 503, "not ready"},
		{"/ready", true, 200, "ready"},
		{"/debug/pprof/", true, 200, "goroutine"},
		{"/", true, 200, "<title>ferry</title>"},
		{"/app.js", true, 200, "import"},
		{"/ferry.js", true, 200, "export function persist"},
		{"/api/stream", true, 404, ""},
		{"/none", true, 404, ""},
	} {
		s.SetReady(c.ready)
		if status, body := do(t, "GET", url+c.path); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: got %d %.80q, want %d %q", c.path, status, body, c.status, c.body)
		}
	}
}

func TestBusyPort(t *testing.T) {
	s, _ := start(t, Config{})
	_, err := New(Config{Address: s.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), s.Addr().String()+" is in use") {
		t.Errorf("got %v, want an error that names %v", err, s.Addr())
	}
}

func TestGuard(t *testing.T) {
	fs := &fakeFunctions{running: map[string]bool{"averages": true}}
	_, url := start(t, Config{Hosts: []string{"edge-1.plant"}, Functions: fs})
	stop := url + "/api/functions/averages/stop"
	for _, c := range []struct {
		name, method, url string
		header            []string
		want              int
	}{
		{"address", "GET", url + "/ping", nil, 200},
		{"localhost", "GET", url + "/ping", []string{"Host", "localhost:4195"}, 200},
		{"IPv6", "GET", url + "/ping", []string{"Host", "[::1]:4195"}, 200},
		{"configured name", "GET", url + "/ping", []string{"Host", "EDGE-1.plant:4195"}, 200},
		{"rebound name", "GET", url + "/metrics", []string{"Host", "evil.example:4195"}, 421},
		{"name that starts like localhost", "GET", url + "/ping", []string{"Host", "localhost.evil.example"}, 421},
		{"post from another site", "POST", stop, []string{"Origin", "http://evil.example"}, 403},
		{"post from another port", "POST", stop, []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"get does not stop", "GET", stop, nil, 404},
		{"post from the dashboard", "POST", stop, []string{"Origin", url, "Sec-Fetch-Site", "same-origin"}, 200},
		{"post from a program", "POST", stop, nil, 200},
	} {
		if status, body := do(t, c.method, c.url, c.header...); status != c.want {
			t.Errorf("%s: got %d %q, want %d", c.name, status, body, c.want)
		}
	}
}

func TestBodyIsRefused(t *testing.T) {
	s, _ := start(t, Config{})
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /ping HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx"); err != nil {
		t.Fatal(err)
	}
	response, err := io.ReadAll(c) // ends, though the body never does
	if err != nil && len(response) == 0 {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(response), "HTTP/1.1 413 ") {
		t.Errorf("got %q", response)
	}
}

type fakeFunctions struct {
	mu      sync.Mutex
	running map[string]bool
}

func (f *fakeFunctions) List() (list []Function) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, running := range f.running {
		list = append(list, Function{Name: name, Observe: []string{"sensors/#"}, Running: running})
	}
	slices.SortFunc(list, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (f *fakeFunctions) Start(name string) error { return f.set(name, true) }
func (f *fakeFunctions) Stop(name string) error  { return f.set(name, false) }

func (f *fakeFunctions) set(name string, running bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.running[name]; !ok {
		return fmt.Errorf("%w: %s", ErrNoFunction, name)
	}
	f.running[name] = running
	return nil
}

func TestFunctions(t *testing.T) {
	_, url := start(t, Config{Functions: &fakeFunctions{running: map[string]bool{"averages": true}}})
	for _, c := range []struct{ method, path, want string }{
		{"GET", "", `"running":true`},
		{"POST", "/averages/stop", `"running":false`},
		{"GET", "", `"running":false`},
		{"POST", "/averages/start", `"running":true`},
		{"POST", "/none/start", "no function none"},
	} {
		if _, body := do(t, c.method, url+"/api/functions"+c.path); !strings.Contains(body, c.want) {
			t.Errorf("%s %s: got %q, want %q", c.method, c.path, body, c.want)
		}
	}
	if _, body := do(t, "GET", url+"/metrics"); !strings.Contains(body, `ferry_function_running{function="averages"} 1`) {
		t.Error("/metrics does not say that the function runs")
	}
}

func TestFunctionMetrics(t *testing.T) {
	worker := listed{{
		Name: "thumbs", CPU: "worker", Running: true, Handled: 9, Failed: 2, Restarts: 4, Active: 2, Queued: 12, LastErrorAt: time.Unix(1700000000, 5e8),
		Took: Histogram{3, 1.5, []Bucket{{0.25, 2}}}, Processes: &Processes{Wanted: 3, Ready: 2, Died: 1},
	}}
	_, url := start(t, Config{Functions: worker, CPU: func() cpu.Stats {
		return cpu.Stats{
			Tokens: 2, Running: 2, Queued: 5, Lent: 1, Jobs: 40, Busy: 3, WaitP50: time.Millisecond, WaitP99: 20 * time.Millisecond,
			Unyielding: []cpu.Unyielding{{Name: "mule", Jobs: 7, Longest: 1500 * time.Millisecond}},
		}
	}})
	_, body := do(t, "GET", url+"/metrics")
	for _, line := range []string{
		"ferry_cpu_tokens 2", "ferry_cpu_tokens_held 2", "ferry_cpu_tokens_lent 1", "ferry_cpu_queue 5", "ferry_cpu_jobs_total 40", "ferry_cpu_refused_total 3",
		`ferry_cpu_wait_seconds{quantile="0.5"} 0.001`, `ferry_cpu_wait_seconds{quantile="0.99"} 0.02`,
		`ferry_cpu_unyielding{job="mule"} 7`, `ferry_cpu_unyielding_longest_seconds{job="mule"} 1.5`,
		`ferry_function_running{function="thumbs"} 1`, `ferry_function_handled_total{function="thumbs"} 9`, `ferry_function_failed_total{function="thumbs"} 2`,
		`ferry_worker_processes{function="thumbs"} 2`, `ferry_function_restarts_total{function="thumbs"} 4`, `ferry_function_active{function="thumbs"} 2`,
		`ferry_function_queue_messages{function="thumbs"} 12`, `ferry_function_seconds_bucket{function="thumbs",le="0.25"} 2`,
		`ferry_function_seconds_count{function="thumbs"} 3`, `ferry_function_last_error_timestamp_seconds{function="thumbs"} 1.7000000005e+09`,
		`ferry_worker_died_total{function="thumbs"} 1`,
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("/metrics has no line %q", line)
		}
	}
}

// listed are functions that cannot be started or stopped.
type listed []Function

func (l listed) List() []Function   { return l }
func (l listed) Start(string) error { return ErrNoFunction }
func (l listed) Stop(string) error  { return ErrNoFunction }

// readEvents reads count events with data from an open stream.
func readEvents(t *testing.T, url string, count int) (names, data []string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	name := "message"
	for lines := bufio.NewScanner(response.Body); len(data) < count && lines.Scan(); {
		line := lines.Text()
		if n, ok := strings.CutPrefix(line, "event: "); ok {
			name = n
		}
		if d, ok := strings.CutPrefix(line, "data: "); ok {
			names, data, name = append(names, name), append(data, d), "message"
		}
	}
	if len(data) < count {
		t.Fatalf("got %d events, want %d: %q", len(data), count, data)
	}
	return names, data
}

func TestStream(t *testing.T) {
	messages := []ferry.Message{
		{Tag: "a/cpu", Type: ferry.CBOR, Time: 1_500_000, Source: 7, Payload: []byte{0xa1, 0x61, 'v', 0x18, 42}}, // {"v": 42}
		{Tag: "a/broken", Type: ferry.CBOR, Payload: []byte{0xa1}},
		{Tag: "a/\"raw\"", Type: ferry.Raw, Payload: []byte{0xde, 0xad}},
		{Tag: "a/large", Type: ferry.Raw, Payload: make([]byte, maxShown+1)},
	}
	got := make(chan []string, 1)
	tap := func(ctx context.Context, filters []string, deliver func(*ferry.Message)) error {
		got <- filters
		for i := range messages {
			deliver(&messages[i])
		}
		<-ctx.Done()
		return nil
	}
	_, url := start(t, Config{Tap: tap, Formats: []format.Format{cbor.Format{}}})
	_, data := readEvents(t, url+"/api/stream?tag=a/%2B&tag=b/%23", 5)
	want := []string{
		"0", // idle, which opens the stream
		`{"tag":"a/cpu","time":1.500,"source":7,"type":"cbor","size":5,"payload":{"v":42}}`,
		`{"tag":"a/broken","time":0.000,"source":0,"type":"cbor","size":1,"payload":"a1"}`,
		`{"tag":"a/\"raw\"","time":0.000,"source":0,"type":"raw","size":2,"payload":"dead"}`,
		`{"tag":"a/large","time":0.000,"source":0,"type":"raw","size":65537}`,
	}
	if !slices.Equal(data, want) {
		t.Errorf("got  %q\nwant %q", data, want)
	}
	for _, d := range data {
		if !json.Valid([]byte(d)) {
			t.Errorf("%q is no JSON", d)
		}
	}
	if filters := <-got; !slices.Equal(filters, []string{"a/+", "b/#"}) {
		t.Errorf("got filters %q", filters)
	}
}

func TestStreamRefuses(t *testing.T) {
	_, url := start(t, Config{Tap: func(context.Context, []string, func(*ferry.Message)) error { return nil }})
	for query, want := range map[string]string{
		"":                                       "want 1 to 16 tag filters",
		"?tag=":                                  "empty",
		"?tag=a/%23/b":                           "goes on behind #",
		"?" + strings.Repeat("tag=a&", 17):       "want 1 to 16",
		"?tag=" + strings.Repeat("a", 2000) + "": "at most",
	} {
		if status, body := do(t, "GET", url+"/api/stream"+query); status != 400 || !strings.Contains(body, want) {
			t.Errorf("%.40s: got %d %q, want 400 %q", query, status, body, want)
		}
	}
}

func TestStreamReportsDropped(t *testing.T) {
	const sent = 10 * maxWaiting
	flooded := make(chan struct{})
	tap := func(ctx context.Context, _ []string, deliver func(*ferry.Message)) error {
		for range sent { // more than the reader can read in time; deliver never blocks
			deliver(&ferry.Message{Tag: "a", Payload: make([]byte, 8<<10)})
		}
		close(flooded)
		<-ctx.Done()
		return nil
	}
	_, url := start(t, Config{Tap: tap})
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/api/stream?tag=a", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	<-flooded
	messages, dropped := 0, 0
	lines := bufio.NewReaderSize(response.Body, 1<<20)
	for event := ""; messages+dropped < sent; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d messages and %d dropped: %v", messages, dropped, err)
		}
		switch {
		case strings.HasPrefix(line, "event: "):
			event = strings.TrimSpace(line[7:])
		case strings.HasPrefix(line, "data: ") && event == "dropped":
			n := 0
			if _, err := fmt.Sscanf(line, "data: %d", &n); err != nil {
				t.Fatal(err)
			}
			dropped += n
			event = ""
		case strings.HasPrefix(line, "data: {"):
			messages++
		case strings.HasPrefix(line, "data: "):
			event = ""
		}
	}
	if dropped == 0 || messages+dropped != sent {
		t.Errorf("%d messages and %d dropped of %d", messages, dropped, sent)
	}
}

// TestStreamsHoldFewBytes checks that the node queues at most maxWaitingBytes for a reader that does not read, whatever the size
// of the messages.
func TestStreamsHoldFewBytes(t *testing.T) {
	for _, tt := range []struct {
		name string
		size int // of the payload
	}{
		{"shown", maxShown},
		{"too large to show", 1 << 20},
	} {
		var q eventQueue
		s := &liveMessages{show: shown{new(format.ByType)}}
		m := ferry.Message{Tag: "a", Payload: make([]byte, tt.size)}
		for range 10 * maxWaiting {
			q.push(s.event(&m))
		}
		held, events := 0, 0
		for event := q.pop(); event != nil; event = q.pop() {
			held += cap(event)
			events++
		}
		if held > maxWaitingBytes || events == 0 || events+int(q.takeDropped()) != 10*maxWaiting {
			t.Errorf("%s: %d events hold %d bytes, want at most %d", tt.name, events, held, maxWaitingBytes)
		}
		if tt.size > maxShown && events != maxWaiting {
			t.Errorf("%s: %d events wait, want %d", tt.name, events, maxWaiting)
		}
	}
}

func TestStreamReportsErrors(t *testing.T) {
	_, url := start(t, Config{Tap: func(context.Context, []string, func(*ferry.Message)) error { return fmt.Errorf("no node") }})
	names, data := readEvents(t, url+"/api/stream?tag=a", 2)
	if names[1] != "failed" || data[1] != `"no node"` {
		t.Errorf("got %q %q", names, data)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	opened := make(chan struct{}, maxStreams+1)
	tap := func(ctx context.Context, _ []string, _ func(*ferry.Message)) error {
		opened <- struct{}{}
		<-ctx.Done()
		return nil
	}
	_, url := start(t, Config{Tap: tap})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range maxStreams {
		go func() {
			r, _ := http.NewRequestWithContext(ctx, "GET", url+"/api/stream?tag=a", nil)
			if response, err := http.DefaultClient.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		}()
	}
	for range maxStreams {
		<-opened
	}
	if status, body := do(t, "GET", url+"/api/stream?tag=a"); status != 503 || !strings.Contains(body, "32 streams are open") {
		t.Errorf("one more: got %d %q", status, body)
	}
}

func TestMetrics(t *testing.T) {
	var s broker.Snapshot
	s.Connections = 2
	s.Tags = []broker.TagStats{{Name: "a/\"b\"", In: stats.Traffic{Messages: 3, Bytes: 300}, Out: stats.Traffic{Messages: 6, Bytes: 600}}}
	s.Subscriptions = []broker.SubscriptionStats{
		{Client: "f", Filter: "a/#", QueuedBytes: 10, QueuedMessages: 1, Credit: 100, Withheld: 1},
		{Client: "f", Filter: "a/#", QueuedBytes: 20, QueuedMessages: 2, Credit: 50},
		{Client: "bad\xff", Filter: "#"},
	}
	s.Dropped = map[string]uint64{"queue_full": 4}
	s.Refused = map[string]uint64{"denied": 5}
	s.Latency.Counts[3], s.Latency.Counts[stats.LatencyBuckets-1], s.Latency.Sum = 7, 1, 2*time.Second
	_, url := start(t, Config{Snapshot: func() broker.Snapshot { return s }})
	status, body := do(t, "GET", url+"/metrics")
	if status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
	for _, want := range []string{
		`ferry_messages_total{dir="in",tag="a/\"b\""} 3`,
		`ferry_bytes_total{dir="out",tag="a/\"b\""} 600`,
		`ferry_dropped_total{reason="queue_full"} 4`,
		`ferry_refused_total{reason="denied"} 5`,
		`ferry_connections 2`,
		`ferry_queue_bytes{client="f",filter="a/#"} 30`,
		`ferry_queue_messages{client="f",filter="a/#"} 3`,
		`ferry_credit_bytes{client="f",filter="a/#"} 50`,
		`ferry_credit_withheld{client="f",filter="a/#"} 1`,
		`ferry_queue_bytes{client="bad?",filter="#"} 0`,
		fmt.Sprintf(`ferry_latency_seconds_bucket{le="%v"} 0`, stats.LatencyBound(2).Seconds()),
		fmt.Sprintf(`ferry_latency_seconds_bucket{le="%v"} 7`, stats.LatencyBound(3).Seconds()),
		`ferry_latency_seconds_bucket{le="+Inf"} 8`,
		`ferry_latency_seconds_count 8`,
		`ferry_latency_seconds_sum 2`,
		`go_goroutines `,
		`process_start_time_seconds `,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("missing %s", want)
		}
	}
}

func TestMetricsAreBounded(t *testing.T) {
	var mu sync.Mutex
	var s broker.Snapshot
	add := func(from, to int) {
		mu.Lock()
		defer mu.Unlock()
		for i := from; i < to; i++ {
			s.Tags = append(s.Tags, broker.TagStats{Name: fmt.Sprintf("t/%05d", i), In: stats.Traffic{Messages: 1}})
			s.Subscriptions = append(s.Subscriptions, broker.SubscriptionStats{Client: fmt.Sprint("c", i), Filter: "#", QueuedBytes: 1})
		}
	}
	_, url := start(t, Config{Snapshot: func() broker.Snapshot { mu.Lock(); defer mu.Unlock(); return s }})
	add(100, 100+maxSeries)
	_, before := do(t, "GET", url+"/metrics")
	if strings.Contains(before, `tag="other"`) {
		t.Error("other is there before it is needed")
	}
	add(0, 30) // they sort first, but do not replace the others
	_, after := do(t, "GET", url+"/metrics")
	for _, want := range []string{
		`ferry_messages_total{dir="in",tag="t/00100"} 1`,
		`ferry_messages_total{dir="in",tag="other"} 30`,
		`ferry_queue_bytes{client="other",filter="other"} 30`,
	} {
		if !strings.Contains(after, want) {
			t.Errorf("missing %s", want)
		}
	}
	if n := strings.Count(after, `ferry_messages_total{dir="in"`); n != maxSeries+1 {
		t.Errorf("%d series, want %d", n, maxSeries+1)
	}
}
