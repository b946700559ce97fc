package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/internal/load"
	"example.com/ferry/internal/load/echo"
	"example.com/ferry/transport/utp"
)

// loadReport is what ferry load -o json prints.
type loadReport struct {
	Sent, Received, OK, Failed int
	Rate                       float64
	Arrivals                   string
	Interrupted                bool
	Void                       string
	Latency                    struct {
		Count     int
		Quantiles map[string]int64
	} `json:"latency_ns"`
	Lateness *struct{ Max int64 } `json:"lateness_ns"`
}

func TestLoad(t *testing.T) {
	t.Parallel()
	nativeAddr, grpcAddr, httpAddr := callServer(t)
	var requests atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path != "/a" {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	payload := filepath.Join(t.TempDir(), "payload")
	if err := os.WriteFile(payload, []byte(`{"name":"Bo"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		args []string
	}{
		{"rpc", []string{"-m", "greeter.Greeter.Hello", "-d", `{"name":"Bo"}`, nativeAddr}},
		{"rpc in cbor", []string{"-m", "greeter.Greeter.Hello", "--content=application/cbor", "-d", `{"name":"Bo"}`, nativeAddr}},
		{"rpc in protobuf, by a schema", []string{"-m", "text.Text.Upper", "--content=protobuf", "--schema", callSchemas(t), "-d", `"abc"`, nativeAddr}},
		{"rpc in y3, by a schema", []string{"-m", "greeter.Greeter.Hello", "--content=y3", "--schema", callSchemas(t), "-d", `{"name":"Bo"}`, nativeAddr}},
		{"rpc, a file", []string{"-m", "greeter.Greeter.Hello", "--file", payload, nativeAddr}},
		{"rpc, bytes", []string{"-m", "text.Text.Echo", "--content=application/octet-stream", "--size=100", nativeAddr}},
		{"grpc by reflection", []string{"-m", "text.Text.Upper", "-d", `"abc"`, grpcAddr}},
		{"json-rpc", []string{"-m", "Greeter.Hello", "-d", `{"name":"Bo"}`, httpAddr}},
		{"http", []string{web.URL + "/a"}},
		{"http, an open loop", []string{"--rate=2000", "--max-late=1m", web.URL + "/a"}},
		{"http, a closed loop", []string{"--closed", "-X", "PUT", "-H", "a:b", "-d", "x", "--expect=200", web.URL + "/a"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := ferryWith("", append([]string{"load", "-c", "5", "-n", "200", "-o", "json"}, row.args...)...)
			var r loadReport
			if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.status != 0 || got.stderr != "" {
				t.Fatalf("status %d, stdout %q, stderr %q, %v", got.status, got.stdout, got.stderr, err)
			}
			if r.Sent != 200 || r.Received != 200 || r.OK != 200 || r.Failed != 0 || r.Latency.Count != 200 || r.Latency.Quantiles["p99.99"] <= 0 || (r.Rate > 0) != (r.Lateness != nil) {
				t.Errorf("got %s", got.stdout)
			}
		})
	}
}

// TestLoadPublish checks that a node routes each message once.
func TestLoadPublish(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	messages := n.subscribe(t, n.tcp, "-n200", "open/load")
	got := ferryWith("", "load", "-c", "3", "-n", "200", "-o", "json", "--pub", "open/load", "-d", `{"a":1}`, "--data-dir", n.dir, n.quic)
	var r loadReport
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.status != 0 || r.OK != 200 {
		t.Fatalf("status %d, stdout %q, stderr %q, %v", got.status, got.stdout, got.stderr, err)
	}
	if got := <-messages; strings.Count(got.stdout, `"type":"json","payload":{"a":1}}`) != 200 {
		t.Errorf("ferry sub: %+v", got)
	}
	got = ferryWith("", "load", "-n", "1", "-c", "1", "--pub", "closed/load", "-d", `{"a":1}`, "--data-dir", n.dir, n.tcp)
	if got.status != 1 {
		t.Errorf("without a grant: %+v", got)
	}
}

func TestLoadText(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	svg := filepath.Join(t.TempDir(), "latency.svg")
	got := ferryWith("", "load", "-c", "2", "-n", "10", "--svg", svg, web.URL+"/<a>")
	for _, want := range []string{
		"closed loop, 2 requests at a time, 10 requests, " + web.URL + "/<a>\n", "\nsent requests             10\nreceived requests         10\nreceived requests_OK      0\nfailed requests           10\n",
		"\np99.99 ", " - ", "      10  status 404 (rejected)\n", "status 404: want 2xx of GET /%3Ca%3E\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, got.stdout)
		}
	}
	if got.status != statusFailed || got.stderr != "" {
		t.Errorf("status %d, stderr %q, want 1", got.status, got.stderr)
	}
	picture, err := os.ReadFile(svg)
	if err != nil || !bytes.HasPrefix(picture, []byte("<svg ")) || !bytes.Contains(picture, []byte("/&lt;a&gt;</text>")) || !bytes.Contains(picture, []byte("<polyline ")) {
		t.Errorf("%v: %s", err, picture)
	}
}

// TestLoadMatrix measures a few cells, each in two processes. A cell that cannot be says why.
func TestLoadMatrix(t *testing.T) {
	t.Parallel()
	matrix := func(args ...string) []byte {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := ferryProcess(ctx, append([]string{"load", "--matrix", "-c", "4", "-n", "40", "--server", "rpc,http"}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Fatalf("%q: %v, stderr %q, stdout %s", args, err, &stderr, out)
		}
		return out
	}
	var got struct {
		Cells []struct {
			Transport, Server, Content, Error string
			Absent                            bool
			Written                           int64 `json:"written_bytes"`
			Read                              int64 `json:"read_bytes"`
			Served                            int
			Result                            loadReport
		}
	}
	out := matrix("-o", "json", "--transport", "tcp,quic,utp", "--content", "y3,json")
	if err := json.Unmarshal(out, &got); err != nil || len(got.Cells) != 3*2*2 {
		t.Fatalf("%v, %s", err, out)
	}
	for _, c := range got.Cells {
		name := c.Transport + "+" + c.Server + " " + c.Content
		cannot := c.Server == "http" && c.Content == "application/y3" || c.Transport == "utp" && utp.Descriptor().Missing != ""
		if c.Absent != cannot || (c.Error != "") != cannot {
			t.Errorf("%s: absent is %v, error %q", name, c.Absent, c.Error)
		}
		if r := c.Result; !cannot && (r.Sent != 40 || r.OK != 40 || r.Failed != 0 || r.Latency.Quantiles["p95"] <= 0 || c.Served != 41 || c.Written < 40*echo.Least || c.Read < 40*echo.Least) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	text := string(matrix("--transport", "unix"))
	for _, want := range []string{
		"unix+rpc protobuf\ntook       (ns)        : ", "\nsent       requests    : 40\nreceived   requests    : 40\nreceived   requests_OK : 40\nthroughput (TPS)       : ",
		"\nconcurrency mean ", " p90 ", " p95 ", " p99 ", "calls served: 41\n", "unix+http json\n", "transport+server content ", "█",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestLoadMatrixFailed: a matrix of nothing but failures has no bars.
func TestLoadMatrixFailed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	row := matrixRow{cell: cell{Transport: "tcp", Server: "rpc", Content: "application/json"}, figures: loadFigures{Failed: 5}}
	if err := writeMatrix(&out, []matrixRow{row}); err != nil || strings.Contains(out.String(), "█") || !strings.Contains(out.String(), "tcp+rpc json") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestLoadMatrixCounters: figures that the counters contradict do not count.
func TestLoadMatrixCounters(t *testing.T) {
	t.Parallel()
	const bytes = 10 * echo.Least
	for name, row := range map[string]struct {
		result cellResult
		want   string
	}{
		"right":                 {cellResult{Written: bytes, Read: bytes, Served: 11}, ""},
		"another way there":     {cellResult{Written: bytes - 1, Read: bytes, Served: 11}, "bytes were written to tcp"},
		"another way back":      {cellResult{Written: bytes, Read: 0, Served: 11}, "and 0 read from it"},
		"another server":        {cellResult{Written: bytes, Read: bytes, Served: 9}, "the server has served 9"},
		"failed before figures": {cellResult{Error: "no"}, "no"},
	} {
		r := matrixRow{cell: cell{Transport: "tcp"}, cellResult: row.result}
		if r.Error == "" {
			r.Load = json.RawMessage(`{"ok":10,"interrupted":true}`)
		}
		if r.check(); r.Error != row.want && (row.want == "" || !strings.Contains(r.Error, row.want)) {
			t.Errorf("%s: got %q, want %q", name, r.Error, row.want)
		}
		if text := r.text(); strings.Contains(text, "Interrupted") != (r.Load != nil) || strings.Contains(text, "no figures: ") != (r.Error != "") {
			t.Errorf("%s: got %s", name, text)
		}
	}
}

func TestLoadRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		args   []string
		status int
		stderr string // a part
	}{
		{[]string{"http://127.0.0.1:1/"}, 1, "connection "},
		{[]string{"-m", "a.B.C", "tcp://127.0.0.1:1"}, 1, "is the server running"},
		{[]string{"--closed", "--rate=1", "http://a/"}, 2, "--closed and --rate exclude each other"},
		{[]string{"--rate=-1", "http://a/"}, 2, "Config.Rate -1"},
		{[]string{"--constant", "http://a/"}, 2, "--constant needs --rate"},
		{[]string{"-c", "0", "http://a/"}, 2, "-c 0 is not positive"},
		{[]string{"--conns", "0", "http://a/"}, 2, "--conns 0 is not positive"},
		{[]string{"--timeout", "0s", "http://a/"}, 2, "--timeout 0s is not positive"},
		{[]string{"tcp://a:1"}, 2, "needs --method"},
		{nil, 2, "give the address of a server, or --matrix"},
		{[]string{"--server=rpc", "-m", "a.B.C", "tcp://a:1"}, 2, "give the address of a server, or --matrix"},
		{[]string{"--matrix", "tcp://a:1"}, 2, "--matrix has servers and messages of its own"},
		{[]string{"--matrix", "-d", "{}"}, 2, "--matrix has servers and messages of its own"},
		{[]string{"--matrix", "--transport=tcp,carrier"}, 2, `--transport "carrier" is unknown: want all, or quic`},
		{[]string{"--matrix", "--server=soap"}, 2, `--server "soap" is unknown: want all, or rpc`},
		{[]string{"--matrix", "--content=xml"}, 2, `--content "xml" is unknown: want all, or protobuf`},
		{[]string{"--matrix", "-c", "0"}, 2, "-c 0 is not positive"},
		{[]string{"-m", "a.B.C", "--pub", "a", "tcp://a:1"}, 2, "exclude each other"},
		{[]string{"--http2", "-m", "a.B.C", "http://a:1"}, 2, "--http2 is for HTTP requests"},
		{[]string{"--http2", "bolt://a:1"}, 2, "not for bolt://"},
		{[]string{"--dialect=v2", "http://a:1/"}, 2, "--dialect is for bolt://"},
		{[]string{"--pub", "a/+", "tcp://a:1"}, 2, "a/+"},
		{[]string{"--pub", "a", "--content", "application/json", "tcp://a:1"}, 2, "not for --pub"},
		{[]string{"--pub", "a", "xyz://a:1"}, 2, "needs the transport xyz"},
		{[]string{"bolt://127.0.0.1:1"}, 1, "is the server running"},
		{[]string{"http://"}, 2, `"http://" is no address`},
		{[]string{"-d", "a", "--size", "1", "http://a/"}, 2, "exclude each other"},
		{[]string{"--size=-1", "http://a/"}, 2, "--size -1"},
		{[]string{"--file", "/nonexistent/x", "http://a/"}, 2, "no such file"},
		{[]string{"-H", "x", "http://a/"}, 2, `-H "x" has no name`},
		{[]string{"--content", "application/json", "http://a/"}, 2, "are for --method"},
		{[]string{"-X", "GET", "-m", "a.B.C", "http://a:1/"}, 2, "-X is for HTTP requests"},
		{[]string{"-m", "a.B.C", "-d", "{", "tcp://a:1"}, 2, "the request is not JSON"},
	} {
		got := ferryWith("", append([]string{"load"}, row.args...)...)
		if got.status != row.status || !strings.Contains(got.stderr, row.stderr) || got.stdout != "" {
			t.Errorf("ferry load %q: status %d, stdout %q, stderr %q, want %d and %q", row.args, got.status, got.stdout, got.stderr, row.status, row.stderr)
		}
	}
}

// TestLoadInterrupted checks that Ctrl-C ends a run, which prints what it has measured.
func TestLoadInterrupted(t *testing.T) {
	t.Parallel()
	interrupt := make(chan struct{})
	var requests atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if requests.Add(1) == 100 {
			close(interrupt)
		}
	}))
	defer web.Close()
	var stdout, stderr bytes.Buffer
	cmd := ferryProcess(t.Context(), "load", "-o", "json", "-c", "2", "-t", "1h", web.URL)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-interrupt:
	case <-time.After(time.Minute):
		t.Error("no 100 requests within a minute")
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	var r loadReport
	if jsonErr := json.Unmarshal(stdout.Bytes(), &r); jsonErr != nil || err != nil || !r.Interrupted || r.OK < 50 || r.Failed != 0 || stderr.Len() > 0 {
		t.Errorf("%v, %v, stdout %s, stderr %s", err, jsonErr, &stdout, &stderr)
	}
}

func TestProgressLine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		p    load.Progress
		want string
	}{
		{load.Progress{}, "connecting"},
		{load.Progress{Elapsed: 1400 * time.Millisecond, Fraction: 0.5, Sent: 7}, "[===============               ]  50 %  1s  7 requests"},
		{load.Progress{Elapsed: time.Second, WarmUp: true, Fraction: 1, Failed: 3}, "[==============================] 100 %  1s  0 requests  warm-up  3 failed"},
	} {
		if got := progressLine(row.p); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}
