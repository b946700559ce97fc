package boltload

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
)

const example = `proxy:
  listeners:
    - address: 127.0.0.1:12200
  clusters:
    - name: server
      endpoints:
        - address: 127.0.0.1:12300
admin:
  address: 127.0.0.1:12295
`

func TestCommand(t *testing.T) {
	f, err := Ferry{Binary: "/bin/ferry", Config: example}.Connections(6)
	if err != nil {
		t.Fatal(err)
	}
	argv, err := f.Command(t.TempDir(), Addresses{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"})
	if err != nil || len(argv) != 4 || !slices.Equal(argv[:3], []string{"/bin/ferry", "run", "-c"}) {
		t.Fatalf("%q, %v", argv, err)
	}
	text, err := os.ReadFile(argv[3])
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("12200", "1", "12300", "2", "12295", "3", "name: server\n", "name: server\n      connections: 6\n").Replace(example)
	if got := string(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := (Ferry{Config: "proxy:\n"}).Connections(6); err == nil {
		t.Error("connections were written where there is no cluster")
	}
}

func TestTrial(t *testing.T) {
	needs.Cores(t, 2) // one for the proxy and one for the load
	at, err := Unused()
	if err != nil {
		t.Fatal(err)
	}
	trial := Trial{Load: Mixed, At: at, Window: 50 * time.Millisecond}
	r, err := trial.Run()
	if err != nil {
		t.Fatal(err)
	}
	f := r.Figures()
	if _, ok := f[Anonymous]; ok || f[PerSecond] <= 0 || f[PerRequest] != 0 || f[LoadBusy] <= 0 {
		t.Errorf("without a proxy: %v", f)
	}
	trial.Argv = []string{"sh", "-c", "echo no such setting >&2; exit 2"}
	if _, err := trial.Run(); err == nil || !strings.Contains(err.Error(), "no such setting") {
		t.Errorf("got %v, want the proxy's own words", err)
	}
}

func TestMetrics(t *testing.T) {
	response := "# HELP go_goroutines Number of goroutines.\ngo_goroutines 15\nferry_x_total{a=\"b c\"} 3\ngo_gc_duration_seconds_sum 1.5e-05\n"
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(response))
	}))
	defer admin.Close()
	addr := strings.TrimPrefix(admin.URL, "http://")
	got, err := metrics(addr)
	if err != nil || len(got) != 2 || got["go_goroutines"] != 15 || got["go_gc_duration_seconds_sum"] != 1.5e-05 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := metrics(addr + "/elsewhere"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v, want that it is not there", err)
	}
	r := Result{Before: got, After: map[string]float64{"go_goroutines": 17}}
	if grown := r.Grown("go_goroutines"); grown != 2 {
		t.Errorf("15 goroutines, then 17: %v more", grown)
	}
}
