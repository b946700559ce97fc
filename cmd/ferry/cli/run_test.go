package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/internal/needs"
)

// runningNode is a ferry run process in its own directory.
type runningNode struct {
	*exec.Cmd
	dir     string
	welcome string // its output when it is ready
	stderr  *bufio.Reader
}

const nodeYAML = `
listeners:
  - address: quic://127.0.0.1:0
  - address: tcp://127.0.0.1:0
admin:
  address: 127.0.0.1:0
live:
  sensors: true
  functions: true
`

func runNode(t *testing.T, yaml string) *runningNode {
	t.Helper()
	n := &runningNode{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(n.dir, "node.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	ferry := filepath.Join(n.dir, "ferry")
	if err := os.Symlink(os.Args[0], ferry); err != nil {
		t.Fatal(err)
	}
	n.Cmd = process(t.Context(), ferry, "run", "-c", "node.yaml")
	n.Dir = n.dir
	stdout, err := n.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := n.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	n.stderr = bufio.NewReader(stderr)
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	for blank := 0; blank < 3; {
		line, err := lines.ReadString('\n')
		if err != nil {
			why, _ := io.ReadAll(n.stderr)
			t.Fatalf("%v after %q: %s", err, n.welcome, why)
		}
		if n.welcome += line; line == "\n" {
			blank++
		}
	}
	return n
}

// await reads standard error up to a line that contains text.
func (n *runningNode) await(t *testing.T, text string) {
	t.Helper()
	for {
		line, err := n.stderr.ReadString('\n')
		if err != nil {
			t.Fatalf("%v before %q", err, text)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// TestRunSuggestions runs the commands that ferry run prints.
func TestRunSuggestions(t *testing.T) {
	t.Parallel()
	needs.Program(t, "bash")
	n := runNode(t, nodeYAML)
	commands := regexp.MustCompile(`(?m)^  (.*)$`).FindAllStringSubmatch(n.welcome, -1)
	if len(commands) != 3 {
		t.Fatalf("got %d things to try, want 3:\n%s", len(commands), n.welcome)
	}
	paste := func(line string) *exec.Cmd {
		cmd := process(t.Context(), "bash", "-c", line)
		cmd.Dir = n.dir
		return cmd
	}

	watch := paste("exec " + commands[0][1])
	lines, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(lines).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"tag":"sensors/`) || !strings.Contains(line, `"readings":[{`) {
		t.Errorf("%s: got %q, %v", commands[0][1], line, err)
	}
	_ = watch.Process.Signal(os.Interrupt)
	if err := watch.Wait(); err != nil {
		t.Errorf("%s: %v", commands[0][1], err)
	}

	out, err := paste(commands[1][1]).CombinedOutput()
	if err != nil || !regexp.MustCompile(`^[0-9.e+-]+\n$`).Match(out) {
		t.Errorf("%s: got %q, %v, want a number", commands[1][1], out, err)
	}

	// The alert reaches only a connected subscriber: publish until it arrives.
	alerts := paste("exec " + strings.Replace(commands[0][1], "sensors/#", "alerts/demo/#", 1) + " --count 1")
	var got bytes.Buffer
	alerts.Stdout = &got
	if err := alerts.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- alerts.Wait() }()
	for waiting := true; waiting; {
		if out, err := paste(commands[2][1]).CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s: %v: %s", commands[2][1], err, out)
		}
		select {
		case err := <-ended:
			if err != nil || !strings.HasPrefix(got.String(), `{"tag":"alerts/demo/cpu",`) {
				t.Errorf("alerts: got %q, %v", got.String(), err)
			}
			waiting = false
		case <-time.After(50 * time.Millisecond):
		}
	}

	url := regexp.MustCompile(`(?m)^dashboard: (.*)$`).FindStringSubmatch(n.welcome)
	if url == nil {
		t.Fatalf("no dashboard in %s", n.welcome)
	}
	page, err := http.Get(url[1])
	if err != nil || page.StatusCode != http.StatusOK {
		t.Errorf("%s: %v, %v", url[1], page, err)
	} else {
		page.Body.Close()
	}

	_ = n.Process.Signal(syscall.SIGTERM)
	n.await(t, "draining; Ctrl-C again")
	if err := n.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, want status 0", err)
	}
}

func TestRunFailures(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { busy.Close() })
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("file", "")
	unknown := write("unknown.yaml", "listeners:\n  - addr: tcp://127.0.0.1:0\n")
	promise := write("promise.yaml", "engine: {address: memory}\nstreams:\n  - tags: a/#\n    delivery: at-least-once\n")
	function := write("function.yaml", "functions:\n  - name: a\n    run: averges\n    observe: [a]\n")
	for _, c := range []struct {
		name   string
		config string
		status int
		want   []string
	}{
		{"busy port", write("busy.yaml", "data_dir: "+dir+"/a\nlisteners:\n  - address: tcp://"+busy.Addr().String()+"\nadmin:\n  address: off\n"), statusFailed, []string{"ferry run: node: ", busy.Addr().String(), "in use"}},
		{"busy admin port", write("admin.yaml", "data_dir: "+dir+"/b\nlisteners:\n  - address: tcp://127.0.0.1:0\nadmin:\n  address: "+busy.Addr().String()+"\n"), statusFailed, []string{busy.Addr().String(), "in use"}},
		{"unusable data directory", write("data.yaml", "data_dir: "+file+"/c\n"), statusFailed, []string{"data directory " + file + "/c"}},
		{"no such file", filepath.Join(dir, "none.yaml"), statusUsage, []string{"none.yaml: no such file"}},
		{"unknown field", unknown, statusUsage, []string{unknown + ":2:5: listeners[0].addr: "}},
		{"unknown function", function, statusUsage, []string{function + `:3:10: functions[0].run: unknown function "averges": want one of averages, alerts, checksum`}},
		{"promise no engine keeps", promise, statusUsage, []string{promise + ":4:15: streams[0].delivery: engine memory cannot promise at-least-once"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ferryWith("", "run", "-c", c.config)
			if got.status != c.status || got.stdout != "" {
				t.Errorf("got %+v, want status %d", got, c.status)
			}
			for _, want := range c.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("got %q, want %q in it", got.stderr, want)
				}
			}
			if c.status == statusFailed {
				return
			}
			if check := ferryWith("", "check", "-c", c.config); check.status != c.status || !strings.Contains(check.stderr, c.want[0]) {
				t.Errorf("ferry check: got %+v, want status %d and %q", check, c.status, c.want[0])
			}
			if check := ferryWith("", "check", "-o", "json", "-c", c.config); check.status != c.status || check.stderr != "" || !strings.HasPrefix(check.stdout, `{"ok":false,"errors":[{"file":`) {
				t.Errorf("ferry check -o json: got %+v, want status %d and the errors", check, c.status)
			}
		})
	}
	good := write("good.yaml", nodeYAML)
	if got := ferryWith("", "check", "-c", good); got != (outcome{stdout: good + ": ok\n"}) {
		t.Errorf("ferry check: got %+v", got)
	}
	if got := ferryWith("", "check", "-c", good, "-o", "json"); got != (outcome{stdout: "{\"ok\":true}\n"}) {
		t.Errorf("ferry check -o json: got %+v", got)
	}
}

// TestCheckWarns: a certificate that expires soon is a warning, and the file is valid.
func TestCheckWarns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certstest.NewCA(t, "ca").Issue(t, certstest.Leaf{CommonName: "soon"}).Write(t, dir, "soon")
	file := filepath.Join(dir, "node.yaml")
	text := fmt.Sprintf("listeners:\n  - {address: 'tls://127.0.0.1:0', cert_file: %s, key_file: %s}\n", cert, key)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "listeners[0].cert_file: " + cert + `: certificate "CN=soon" expires in 23 h`
	got := ferryWith("", "check", "-c", file)
	if got.status != statusDone || got.stdout != file+": ok\n" || !strings.HasPrefix(got.stderr, "ferry: warning: "+file+":2:47: "+want) {
		t.Errorf("got %+v, want status 0 and %q", got, want)
	}
	got = ferryWith("", "check", "-o", "json", "-c", file)
	if got.status != statusDone || got.stderr != "" || !strings.HasPrefix(got.stdout, `{"ok":true,"warnings":[{"file":`) {
		t.Errorf("-o json: got %+v", got)
	}
}

func TestInvocation(t *testing.T) {
	t.Parallel()
	for arg0, want := range map[string]string{
		"ferry":                                "ferry",
		"./ferry":                              "./ferry",
		"/opt/my ferry":                        "'/opt/my ferry'",
		"/root/.cache/go-build/3a/3a9-d/ferry": "go run ./cmd/ferry",
		"/tmp/go-build1794/b001/exe/ferry":     "go run ./cmd/ferry",
	} {
		if got := invocation(arg0); got != want {
			t.Errorf("invocation(%q): got %q, want %q", arg0, got, want)
		}
	}
	for _, c := range []struct {
		addresses []string
		dataDir   string
		want      string
	}{
		{[]string{"quic://127.0.0.1:4190", "tcp://127.0.0.1:4190"}, "./ferry-data", ""},
		{[]string{"tcp://127.0.0.1:4300"}, "ferry-data", " -a tcp://127.0.0.1:4300"},
		{[]string{"quic://0.0.0.0:4190"}, "/var/lib/my node", " -a quic://127.0.0.1:4190 --data-dir '/var/lib/my node'"},
		{[]string{"tls://[::]:4190"}, "./ferry-data", " -a tls://127.0.0.1:4190"},
	} {
		if got := clientFlags(c.addresses, c.dataDir); got != c.want {
			t.Errorf("clientFlags(%q, %q): got %q, want %q", c.addresses, c.dataDir, got, c.want)
		}
	}
}

// TestCheckResolved prints the configuration of two files and a secret.
func TestCheckResolved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"node.yaml": "include: more.yaml\nlimits: {queue: '${FERRY_TEST_UNDEFINED:64KiB}'}\n",
		"more.yaml": "identities: [{name: pump, token: '${file:token}', publish: ['#']}]\n",
		"token":     "MARKED-token-of-a-file\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "node.yaml")
	for _, c := range []struct{ format, want string }{{"text", "  queue: 64KiB\n"}, {"json", `"queue": "64KiB"`}} {
		got := ferryWith("", "check", "-c", file, "--resolved", "-o", c.format)
		if got.status != statusDone || !strings.Contains(got.stdout, c.want) || !strings.Contains(got.stdout, "[redacted]") || strings.Contains(got.stdout, "MARKED") {
			t.Errorf("%s: got %+v", c.format, got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "more.yaml"), []byte("limits: {queue: 1MiB}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := ferryWith("", "check", "-c", file, "--resolved")
	if want := filepath.Join(dir, "more.yaml") + ":1:10: limits.queue: is set at " + file + ":2:10 already"; got.status != statusUsage || !strings.HasPrefix(got.stderr, want) {
		t.Errorf("got %+v, want %s", got, want)
	}
}
