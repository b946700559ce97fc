package interop

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSidecar sends requests through two ferries, as configured in examples/proxy/sidecar.yaml.
func TestSidecar(t *testing.T) {
	upload := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(upload, block, 0o600); err != nil {
		t.Fatal(err)
	}
	f := run(t, "sidecar.yaml", map[string]string{"18190": serveGo(t, paths()), "12310": serveBolt(t)})
	url := f.url("18180")
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"get", []string{url + "/text"}, string(text)},
		{"put", []string{"-T", upload, url + "/hash"}, fmt.Sprintf("PUT %d %s\n", len(block), sum(int64(len(block))))},
		{
			"chunks there and back",
			[]string{"-T", upload, "-H", "Transfer-Encoding: chunked", url + "/hash", "--next", "-sS", url + "/bytes?n=1048576"},
			fmt.Sprintf("PUT %d %s\n%s", len(block), sum(int64(len(block))), block),
		},
		{"http 1.0", []string{"--http1.0", url + "/bytes?n=1048576"}, string(block)},
		{"head", []string{"-I", "-o", "/dev/null", "-w", "%{http_code} %header{content-length}", url + "/text"}, fmt.Sprintf("200 %d", len(text))},
		{"not modified", []string{"-z", "Fri, 02 Jan 2026 03:04:05 GMT", "-w", "%{http_code}", url + "/text"}, "304"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := output(t, "", "curl", append([]string{"-sS", "--max-time", "60"}, row.args...)...); got != row.want {
				t.Errorf("got %s, want %s", short(got), short(row.want))
			}
		})
	}
	t.Run("many", func(t *testing.T) { newHonest(t, url).ask(500) })
	t.Run("large", func(t *testing.T) {
		const size = 100 << 20
		r, err := http.NewRequestWithContext(t.Context(), "PUT", url+"/hash", pattern(size))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer(t, r).Body)
		if want := fmt.Sprintf("PUT %d %s\n", size, sum(size)); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
	t.Run("bolt", func(t *testing.T) { callBolt(t, f.at("12210"), 500) })
	t.Run("counts", func(t *testing.T) {
		metrics := output(t, "", "curl", "-sS", f.url("18195")+"/metrics")
		for _, listener := range []string{"http-out", "http-in", "bolt-out", "bolt-in"} {
			want := regexp.MustCompile(`ferry_proxy_requests_total\{code="[^"]*",listener="` + listener + `",[^}]*\} [1-9]`)
			if !want.MatchString(metrics) {
				t.Errorf("/metrics counts no request of %s", listener)
			}
		}
		for line := range strings.Lines(metrics) {
			if strings.HasPrefix(line, "ferry_proxy_requests_total") && strings.Contains(line, `code="5xx"`) && !strings.HasSuffix(line, " 0\n") {
				t.Errorf("failed requests: %s", line)
			}
		}
	})
}
