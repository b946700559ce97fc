package cli

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"example.com/ferry/cpu"
)

func TestWorkerRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"worker", "none"}, statusUsage, `ferry worker: no function "none": want one of [averages alerts checksum]`},
		{[]string{"worker", "checksum"}, statusFailed, "Serve is for programs that worker.Start runs"},
	} {
		if got := ferryWith("", c.args...); got.status != c.status || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%q: got %+v, want status %d and %q", c.args, got, c.status, c.want)
		}
	}
	if got := ferryWith("", "--help"); strings.Contains(got.stdout, "worker") {
		t.Error("the overview shows what is not for people")
	}
}

// TestRunTunes checks that ferry run sets GOMAXPROCS only for a node with a heavy function.
func TestRunTunes(t *testing.T) {
	t.Parallel()
	untuned := runtime.GOMAXPROCS(0)
	tuned := max(2*cpu.Cores(), cpu.Cores()+2)
	if os.Getenv("GOMAXPROCS") != "" { // ferry does not change it then
		tuned = untuned
	}
	const heavy = `
functions:
  - name: sums
    run: checksum
    observe: [checksum/#]
    cpu: heavy
`
	for yaml, want := range map[string]int{nodeYAML: untuned, nodeYAML + heavy: max(tuned, untuned)} {
		n := runNode(t, yaml)
		url := regexp.MustCompile(`(?m)^dashboard: (.*)$`).FindStringSubmatch(n.welcome)
		response, err := http.Get(url[1] + "metrics")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := regexp.MustCompile(`(?m)^go_sched_gomaxprocs_threads (\d+)$`).FindSubmatch(body)
		if got == nil || string(got[1]) != strconv.Itoa(want) {
			t.Errorf("got GOMAXPROCS %q, want %d for %s", got, want, yaml)
		}
		_ = n.Process.Signal(os.Interrupt)
		n.await(t, "draining; Ctrl-C again")
		if err := n.Wait(); err != nil {
			t.Error(err)
		}
	}
}
