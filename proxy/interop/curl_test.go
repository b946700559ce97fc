package interop

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/internal/needs"
)

// output runs a program and returns its standard output. The test fails unless the exit status is 0.
func output(t *testing.T, stdin string, name string, args ...string) string {
	t.Helper()
	program := needs.Program(t, name)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s\n%s", name, args, err, out, &stderr)
	}
	return string(out)
}

// TestCurl: curl sends requests to each server through ferry.
func TestCurl(t *testing.T) {
	const size = 1 << 20
	upload := filepath.Join(t.TempDir(), "upload")
	body := string(block)
	if err := os.WriteFile(upload, block, 0o600); err != nil {
		t.Fatal(err)
	}
	digest := sum(size)
	rows := []struct {
		name  string
		only  string   // names of servers; empty means all
		args  []string // arguments in which URL stands for ferry's URL
		stdin string
		want  string
	}{
		{name: "get", args: []string{"URL/text"}, want: string(text)},
		{name: "echo", args: []string{"URL/echo?a=b&c"}, want: "GET /echo?a=b&c\n"},
		{name: "post", args: []string{"-d", "a=b", "URL/hash"}, want: fmt.Sprintf("POST 3 %x\n", sha256.Sum256([]byte("a=b")))},
		{name: "head", only: "go nginx", args: []string{"-I", "-o", "/dev/null", "-w", "%{http_code} %header{content-length}", "URL/text"}, want: fmt.Sprintf("200 %d", len(text))},
		{name: "head without a length", only: "node python", args: []string{"-I", "-o", "/dev/null", "-w", "%{http_code}", "URL/text"}, want: "200"},
		{name: "put", args: []string{"-T", upload, "URL/hash"}, want: fmt.Sprintf("PUT %d %s\n", size, digest)},
		{
			name: "put that waits for 100 continue", only: "go nginx node", // curl 8 waits only for bodies of 1 MiB or more, curl 7 always
			args: []string{"-T", upload, "-H", "Expect: 100-continue", "--expect100-timeout", "100", "URL/hash"},
			want: fmt.Sprintf("PUT %d %s\n", size, digest),
		},
		{name: "put chunked", args: []string{"-T", "-", "URL/hash"}, stdin: body, want: fmt.Sprintf("PUT %d %s\n", size, digest)},
		{name: "post chunked", args: []string{"-H", "Transfer-Encoding: chunked", "--data-binary", "@" + upload, "URL/hash"}, want: fmt.Sprintf("POST %d %s\n", size, digest)},
		{name: "http 1.0", args: []string{"--http1.0", "URL/text"}, want: string(text)},
		{name: "http 1.0, chunked behind", args: []string{"--http1.0", "URL/bytes?n=1048576"}, want: body},
		{name: "http 1.0, put", args: []string{"--http1.0", "-T", upload, "URL/hash"}, want: fmt.Sprintf("PUT %d %s\n", size, digest)},
		{name: "bytes", args: []string{"URL/bytes?n=1048576"}, want: body},
		{name: "range", only: "go nginx", args: []string{"--range", "70-74", "-w", " %{http_code}", "URL/text"}, want: string(text[70:75]) + " 206"},
		{name: "two ranges", only: "go nginx", args: []string{"--range", "0-2,70-72", "-o", "/dev/null", "-w", "%{http_code}", "URL/text"}, want: "206"},
		{name: "compressed", only: "go nginx", args: []string{"--compressed", "-w", "%header{content-encoding}", "URL/text"}, want: string(text) + "gzip"},
		{name: "not modified", only: "go nginx", args: []string{"-z", "Fri, 02 Jan 2026 03:04:05 GMT", "-w", "%{http_code} %{size_download}", "URL/text"}, want: "304 0"},
		{name: "not modified, then more", only: "go nginx", args: []string{
			"-H", "If-Modified-Since: Fri, 02 Jan 2026 03:04:05 GMT", "-w", "%{http_code} %{num_connects}\n", "-o", "/dev/null", "-o", "/dev/null", "URL/text", "URL/text",
		}, want: "304 1\n304 0\n"},
		{
			name: "one connection for three", only: "go nginx node", // Python's responses end with the connection
			args: []string{"-w", "%{num_connects}\n", "URL/a", "URL/b", "URL/c"}, want: "GET /a\n1\nGET /b\n0\nGET /c\n0\n",
		},
		{name: "delete", args: []string{"-X", "DELETE", "URL/echo/7"}, want: "DELETE /echo/7\n"},
		{name: "parallel", args: []string{"--parallel", "--parallel-max", "8", "-o", "/dev/null", "-w", "%{http_code}\n", "URL/echo/[1-40]"}, want: strings.Repeat("200\n", 40)},
	}
	for server, address := range servers(t) {
		f := run(t, "http1.yaml", map[string]string{"18090": address})
		for _, row := range rows {
			if row.only != "" && !strings.Contains(" "+row.only+" ", " "+server+" ") {
				continue
			}
			t.Run(server+"/"+row.name, func(t *testing.T) {
				args := []string{"-sS", "--max-time", "60", "-H", "User-Agent: curl"}
				for _, a := range row.args {
					args = append(args, strings.ReplaceAll(a, "URL", f.url("18080")))
				}
				if got := output(t, row.stdin, "curl", args...); got != row.want {
					t.Errorf("curl %q:\n got %s\nwant %s", args, short(got), short(row.want))
				}
			})
		}
	}
}

// TestCurlContinue: the server sends 100 Continue before the client sends the body.
func TestCurlContinue(t *testing.T) {
	upload := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(upload, block, 0o600); err != nil {
		t.Fatal(err)
	}
	f := run(t, "http1.yaml", map[string]string{"18090": serveGo(t, paths())})
	got := output(t, "", "curl", "-sS", "-i", "-T", upload, "-H", "Expect: 100-continue", "--expect100-timeout", "100", f.url("18080")+"/hash")
	if !strings.HasPrefix(got, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n") || !strings.Contains(got, sum(int64(len(block)))) {
		t.Errorf("got %q, want 100, then 200 and the hash", got)
	}
}

// short shortens a long text for an error message.
func short(s string) string {
	if len(s) > 300 {
		return fmt.Sprintf("%q and %d bytes more", s[:300], len(s)-300)
	}
	return fmt.Sprintf("%q", s)
}
