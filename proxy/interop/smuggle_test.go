package interop

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/proxy/proxytest"
)

// sample is a case of protocol/http1's corpus: raw bytes, and whether the proxy must forward them as a request.
type sample struct {
	name     string
	raw      string
	forwards bool
}

func corpus(t *testing.T) []sample {
	t.Helper()
	var all []sample
	for _, file := range []string{"requests.txt", "chunked.txt"} {
		text, err := os.ReadFile("../../protocol/http1/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(text), "\n== ") {
			name, block, _ := strings.Cut(block, "\n")
			raw, verdict, ok := strings.Cut(block, "\n-- ")
			if !ok {
				continue // a comment
			}
			data, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(raw, "\n", ""), `"`, `\"`) + `"`)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all = append(all, sample{name, data, strings.HasPrefix(verdict, "forward")})
		}
	}
	if len(all) < 100 {
		t.Fatalf("%d cases: the corpus was not read", len(all))
	}
	return all
}

// TestSmuggling sends each case to a server through ferry, followed by a marked request on the same connection. The
// server must not receive a case that ferry refuses. It must receive a case that ferry forwards as one request, and
// must respond to the marked request separately. The server speaks HTTP/1.1 or HTTP/2, or a second ferry turns HTTP/2 back into
// HTTP/1.1.
func TestSmuggling(t *testing.T) {
	samples := corpus(t)
	toHTTP2 := []string{"- name: web\n", "- name: web\n      protocol: http2\n"}
	t.Run("go", func(t *testing.T) {
		s := newRecordingServer(t)
		smuggle(t, samples, run(t, "http1.yaml", map[string]string{"18090": s.address}).at("18080"), s.address, s.seen)
	})
	t.Run("nginx", func(t *testing.T) {
		server, log := nginx(t)
		smuggle(t, samples, run(t, "http1.yaml", map[string]string{"18090": server}).at("18080"), server, nginxLog(t, log))
	})
	t.Run("HTTP2 to go", func(t *testing.T) {
		s := newRecordingServer(t)
		tunnels := func(s sample) bool { return strings.Contains(s.raw, "Upgrade: websocket") } // net/http has no extended CONNECT
		samples := slices.DeleteFunc(slices.Clone(samples), tunnels)
		smuggle(t, samples, run(t, "http1.yaml", map[string]string{"18090": s.address}, toHTTP2...).at("18080"), s.address, s.seen)
	})
	t.Run("HTTP2 and back to nginx", func(t *testing.T) {
		server, log := nginx(t)
		back := run(t, "http2.yaml", map[string]string{"18092": server})
		smuggle(t, samples, run(t, "http1.yaml", map[string]string{"18090": back.at("18082")}, toHTTP2...).at("18080"), server, nginxLog(t, log))
	})
}

// nginxLog returns the requests in nginx's log.
func nginxLog(t *testing.T, log string) func() []string {
	return func() []string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}

// recordingServer is a server of net/http that notes the requests that it has received to their end, with their bodies. It speaks
// HTTP/1.1 and HTTP/2.
type recordingServer struct {
	address string
	mu      sync.Mutex
	lines   []string
}

func newRecordingServer(t *testing.T) *recordingServer {
	t.Helper()
	s := &recordingServer{}
	h := &http.Server{Handler: s, DisableGeneralOptionsHandler: true, Protocols: new(http.Protocols)}
	h.Protocols.SetHTTP1(true)
	h.Protocols.SetUnencryptedHTTP2(true)
	ln := proxytest.Listen(t)
	go h.Serve(ln)
	t.Cleanup(func() { h.Close() })
	s.address = ln.Addr().String()
	return s
}

func (s *recordingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the request was reset
	}
	line := r.Method + " " + r.RequestURI
	s.mu.Lock()
	s.lines = append(s.lines, withBody(line, string(body)))
	s.mu.Unlock()
	fmt.Fprintln(w, line)
}

// seen returns the requests received, in order. Each element begins with the method and the target.
func (s *recordingServer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// smuggle sends the cases to ferry at an address. log returns the requests that the server has received, in order. Each element
// begins with the method and the target.
func smuggle(t *testing.T, samples []sample, address, server string, log func() []string) {
	before, kept, refused := 0, 0, 0
	for i, s := range samples {
		mark := fmt.Sprintf("/mark-%d", i)
		c := talk(t, address, s.raw, "GET "+mark+" HTTP/1.1\r\nHost: mark\r\n\r\n")

		// Once the server has received this request on another connection, it has received all earlier requests.
		barrier := fmt.Sprintf("/barrier-%d", i)
		if a, err := http.Get("http://" + server + barrier); err != nil {
			t.Fatal(err)
		} else {
			a.Body.Close()
		}
		var seen []string
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			seen = log()
			if strings.HasPrefix(seen[len(seen)-1], "GET "+barrier) || time.Now().After(deadline) {
				break
			}
		}
		cases, marks := 0, 0
		seen, before = seen[before:], len(seen)
		for _, line := range seen[:len(seen)-1] {
			if strings.HasPrefix(line, "GET "+mark) {
				marks++
			} else {
				cases++
			}
		}

		answered := 0
		if c.marked {
			answered = 1
			kept++
		}
		if !s.forwards && c.closed {
			refused++
		}
		switch connects := strings.HasPrefix(s.raw, "CONNECT"); {
		case !s.forwards && (cases > 0 || marks > 0):
			t.Errorf("%s: the server saw %q of what is refused", s.name, seen)
		case (!s.forwards || connects) && (c.status < 400 || !c.closed || c.marked):
			t.Errorf("%s: got status %d, closed %v, the mark answered %v; want 4xx or 5xx and the end", s.name, c.status, c.closed, c.marked)
		case s.forwards && !connects && cases != 1:
			t.Errorf("%s: the server saw %d requests, want 1", s.name, cases)
		case marks != answered || s.forwards && !connects && !c.marked && !c.last:
			t.Errorf("%s: the server saw %d marks, answered %v on a connection that was to end: %v", s.name, marks, c.marked, c.last)
		case c.wrong != "":
			t.Errorf("%s: the mark was answered with %q", s.name, c.wrong)
		}
	}
	t.Logf("%d cases: %d refused, %d with an answered mark behind them", len(samples), refused, kept)
	if kept < 40 || refused < 40 {
		t.Error("want at least 40 of both")
	}
}

// talked has the responses to a case and to the marked request after it.
type talked struct {
	status int  // status of the response to the case
	last   bool // the response to the case closes the connection
	marked bool // the marked request got its response
	wrong  string
	closed bool // ferry has closed the connection
}

// talk sends a case and the marked request, and reads the responses.
func talk(t *testing.T, address, raw, mark string) (got talked) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, raw+mark); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(raw, " ")
	want, _, _ := strings.Cut(mark, " HTTP")
	r := bufio.NewReader(conn)
	for _, method := range []string{method, "GET"} {
		status, body, last, err := readResponse(r, method)
		if err != nil {
			got.closed = true
			return got
		}
		switch {
		case got.status == 0:
			got.status, got.last = status, last
		case status == 200 && body == want+"\n":
			got.marked = true
		default:
			got.wrong = fmt.Sprintf("%d %s", status, body)
		}
		if last {
			break
		}
	}
	// No further byte may arrive.
	if !got.last {
		conn.(*net.TCPConn).CloseWrite()
	}
	rest, err := io.ReadAll(r)
	got.closed = got.last && err == nil
	if len(rest) > 0 || err != nil {
		got.wrong = fmt.Sprintf("%s, and then %q, %v", got.wrong, rest, err)
	}
	return got
}

// readResponse reads the next final response.
func readResponse(r *bufio.Reader, method string) (status int, body string, last bool, err error) {
	for {
		a, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return 0, "", true, err
		}
		b, err := io.ReadAll(a.Body)
		if err != nil || a.StatusCode >= 200 {
			return a.StatusCode, string(b), a.Close, err
		}
	}
}
