package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"example.com/ferry/protocol/native/conformance"
)

// TestConformanceClient runs some cases against Go's client, whose driver is a process of its own.
func TestConformanceClient(t *testing.T) {
	t.Setenv(asFerry, "1")
	got := ferryWith("", "conformance", "client", "--timeout", "1m", "--run", "^(handshake/hello|credit/window|serve/unary)$", "--", os.Args[0], "conformance", "driver")
	if want := "pass  handshake/hello\npass  credit/window\npass  serve/unary\n"; got.status != 0 || got.stdout != want {
		t.Errorf("status %d, %q, %q: want 0, %q", got.status, got.stdout, got.stderr, want)
	}
}

// TestConformanceFailure runs a driver that speaks no JSON.
func TestConformanceFailure(t *testing.T) {
	t.Setenv(asFerry, "1")
	got := ferryWith("", "conformance", "client", "-o", "json", "--run", "^handshake/hello$", "--", os.Args[0], "version")
	var r conformance.Result
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.status != statusFailed {
		t.Fatalf("status %d, %q, %v: want 1 and one line of JSON", got.status, got.stdout, err)
	}
	if r.Verdict != conformance.Fail || r.Name != "handshake/hello" || !strings.Contains(r.Want, "JSON") {
		t.Errorf("got %+v, want a failure for want of JSON", r)
	}
}

// TestConformanceNode runs some cases against a node, whose data directory has the token.
func TestConformanceNode(t *testing.T) {
	n := startNode(t)
	got := ferryWith("", "conformance", "node", "--timeout", "1m", "--data-dir", n.dir, "--tags", "open", "--run", "^(handshake/token|publish/message|publish/forbidden)$", n.tcp)
	want := "pass  handshake/token\npass  publish/message\nskip  publish/forbidden: no forbidden tag was given\n"
	if got.status != 0 || got.stdout != want {
		t.Errorf("status %d, %q, %q: want 0, %q", got.status, got.stdout, got.stderr, want)
	}
}

// TestConformanceUsage checks errors of the command line.
func TestConformanceUsage(t *testing.T) {
	for _, args := range [][]string{
		{"client", "--run", "^nothing$", "--", os.Args[0]},
		{"client", "--run", "(", "--", os.Args[0]},
		{"client", "--timeout", "-1s", "--", os.Args[0]},
		{"client", "--", "./no-such-driver"},
		{"node", "quic://127.0.0.1:1"},
	} {
		if got := ferryWith("", append([]string{"conformance"}, args...)...); got.status != statusUsage || got.stdout != "" {
			t.Errorf("%v: status %d, %q, %q: want 2 and no output", args, got.status, got.stdout, got.stderr)
		}
	}
}
