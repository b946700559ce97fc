package openloop

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// server counts its requests.
func server(t *testing.T) (addr string, asked *[3]atomic.Int64) {
	asked = new([3]atomic.Int64)
	never := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/a", func(w http.ResponseWriter, _ *http.Request) { asked[0].Add(1); fmt.Fprint(w, "a") })
	mux.HandleFunc("/b", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Millisecond)
		asked[1].Add(1)
		fmt.Fprint(w, "b")
	})
	mux.HandleFunc("/count", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%d asked", asked[2].Add(1)) })
	mux.HandleFunc("/never", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-never:
		case <-r.Context().Done():
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() { close(never); s.Close() })
	return s.Listener.Addr().String(), asked
}

func TestMeasure(t *testing.T) {
	addr, asked := server(t)
	var r *Report
	answered := 0 // requests for /a with a response; all others are Unanswered
	window := 300 * time.Millisecond
	for ; window < 30*time.Second; window *= 4 { // longer on a busy machine
		asked[2].Store(0)
		var err error
		r, err = Measure(Spec{
			Addr:   addr,
			Open:   []Open{{"/a", 500}, {"/never", 100}},
			Closed: []Closed{{"/b", 3}},
			Warm:   50 * time.Millisecond, Window: window,
			Count: "/count", PIDs: []int{os.Getpid()},
		})
		if err != nil {
			t.Fatal(err)
		}
		if answered = len(r.Open[0]) + len(r.Open[1]) - r.Unanswered; answered > 0 && r.Closed[0] > 0 {
			break
		}
	}
	if answered <= 0 || int64(answered) > asked[0].Load() {
		t.Errorf("%d responses in the window, the server was asked %d times", answered, asked[0].Load())
	}
	if n := len(r.Open[1]); n == 0 || n > r.Unanswered { // those of the other stream may be on their way
		t.Errorf("never answered: %d times with their age, of %d without a response", n, r.Unanswered)
	}
	if n := int64(r.Closed[0]); n == 0 || n > asked[1].Load() {
		t.Errorf("%d responses to closed requests in the window, the server was asked %d times", n, asked[1].Load())
	}
	if len(r.Late) != len(r.Open[0])+len(r.Open[1]) {
		t.Errorf("%d times of how late it was, for %d and %d requests", len(r.Late), len(r.Open[0]), len(r.Open[1]))
	}
	if len(r.Counts) != 2 || r.Counts[0].Body != "1 asked" || r.Counts[1].Body != "2 asked" ||
		r.Counts[0].At < 50*time.Millisecond || r.Counts[1].At < 50*time.Millisecond+window {
		t.Errorf("counter: got %v", r.Counts)
	}
	if r.Own <= 0 || r.Foreign < 0 {
		t.Errorf("CPU: own %v, foreign %v cores", r.Own, r.Foreign)
	}
	for i, times := range append(r.Open, r.Late) {
		for k := range times {
			if times[k] < 0 || k > 0 && times[k] < times[k-1] {
				t.Fatalf("%d: times are not in order, or below 0: %v", i, times)
			}
		}
	}
}

func TestMeasureFails(t *testing.T) {
	addr, _ := server(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, row := range []struct {
		name string
		spec Spec
		want string
	}{
		{"nothing to send", Spec{Addr: addr, Window: 1}, "something to send"},
		{"no window", Spec{Addr: addr, Open: []Open{{"/a", 1}}}, "a window"},
		{"no rate", Spec{Addr: addr, Open: []Open{{"/a", 0}}, Window: 1}, "/a at 0 a second"},
		{"none in flight", Spec{Addr: addr, Closed: []Closed{{"/a", 0}}, Window: 1}, "/a with 0 requests"},
		{"not found", Spec{Addr: addr, Open: []Open{{"/c", 100}}, Window: time.Second}, "404 Not Found"},
		{"a name", Spec{Addr: "localhost:1", Open: []Open{{"/c", 100}}, Window: time.Second}, `"localhost:1"`},
		{"no listener", Spec{Addr: closed.Addr().String(), Open: []Open{{"/c", 100}}, Window: time.Second}, "refused"},
		{"no such process", Spec{Addr: addr, Open: []Open{{"/a", 100}}, Window: time.Second, PIDs: []int{1 << 30}}, "/proc/1073741824/stat"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := Measure(row.spec); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	const response = "HTTP/1.1 200 OK\r\nDate: today\r\ncontent-length: 3\r\n\r\nyes"
	for i := range len(response) {
		if _, whole, err := parse([]byte(response[:i])); whole || err != nil {
			t.Fatalf("%q: whole %v, %v", response[:i], whole, err)
		}
	}
	if body, whole, err := parse([]byte(response)); string(body) != "yes" || !whole || err != nil {
		t.Errorf("got %q, whole %v, %v", body, whole, err)
	}
	for _, row := range []struct{ in, want string }{
		{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", "503"},
		{"HTTP/1.1 200 OK\r\n\r\n", "no Content-Length"},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "-1"},
		{response + "!", "1 bytes more"},
	} {
		if _, _, err := parse([]byte(row.in)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: got %v, want %q in it", row.in, err, row.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	times := Times{1, 2, 3, 4}
	for _, row := range []struct {
		q    float64
		want time.Duration
	}{{0, 1}, {0.5, 3}, {0.99, 4}, {1, 4}} {
		if got := times.Quantile(row.q); got != row.want {
			t.Errorf("%v: got %v, want %v", row.q, got, row.want)
		}
	}
	if got := (Times{}).Quantile(0.5); got != 0 {
		t.Errorf("of nothing: got %v", got)
	}
}
