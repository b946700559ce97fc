package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/format/all"
	"example.com/ferry/node/config"
)

// watchedYAML is a proxy in front of one server.
const watchedYAML = `proxy:
  loops: 1
  access_log: {file: %s}
  listeners: [{address: '127.0.0.1:0', protocol: http1, cluster: web}]
  clusters: [{name: web, endpoints: [{address: '%s'}]}]
admin: {address: '127.0.0.1:0'}
`

// watched is a running node that reloads its configuration file.
type watched struct {
	t     *testing.T
	node  *Node
	file  string
	log   lines
	again chan os.Signal
}

func watch(t *testing.T, text string) *watched {
	t.Helper()
	w := &watched{t: t, file: filepath.Join(t.TempDir(), "node.yaml"), log: make(lines, 1000), again: make(chan os.Signal, 1)}
	w.write(text)
	source, err := config.Read(w.file)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := source.Config(config.Program{Formats: all.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	if w.node, err = Build(cfg, Extensions{Formats: all.Formats(), Log: slog.New(slog.NewTextHandler(w.log, nil))}); err != nil {
		t.Fatal(err)
	}
	run(t, w.node)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		w.node.Watch(ctx, source, w.again)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return w
}

func (w *watched) write(text string) {
	w.t.Helper()
	if !strings.Contains(text, "data_dir:") { // not the default, which is in the folder of the package
		text += "data_dir: '" + filepath.ToSlash(filepath.Join(filepath.Dir(w.file), "data")) + "'\n"
	}
	if err := os.WriteFile(w.file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// awaitLog waits until the log has a line that contains all parts.
func (w *watched) awaitLog(parts ...string) {
	w.t.Helper()
	var lines []string
	for {
		select {
		case line := <-w.log:
			lines = append(lines, line)
			missing := 0
			for _, p := range parts {
				if !strings.Contains(line, p) {
					missing++
				}
			}
			if missing == 0 {
				return
			}
		case <-time.After(30 * time.Second):
			w.t.Fatalf("no log line contains %q; the log is\n%s", parts, strings.Join(lines, ""))
		}
	}
}

// expectBody checks the body of a response through the proxy.
func (w *watched) expectBody(want string) {
	w.t.Helper()
	if _, body := get(w.t, through(w.t, w.node)); body != want {
		w.t.Errorf("got %q, want %q", body, want)
	}
}

// TestWatchChanges changes the file and waits for the reload.
func TestWatchChanges(t *testing.T) {
	t.Parallel()
	a, b := web(t, "a"), web(t, "b")
	w := watch(t, fmt.Sprintf(watchedYAML, "''", a))
	w.expectBody("a")
	w.write(fmt.Sprintf(watchedYAML, "''", b))
	w.awaitLog("configuration applied", "section=proxy", "changed=clusters")
	w.expectBody("b")
	w.write("proxy: {}\n")
	w.awaitLog("level=ERROR", "configuration refused: the previous one stays in use", "node.yaml:1:8: proxy: missing field listeners")
	w.expectBody("b")
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	w.awaitLog("configuration refused: the previous one stays in use", "no such file")
	w.write(fmt.Sprintf(watchedYAML, "''", a))
	w.awaitLog("configuration applied", "section=proxy")
	w.expectBody("a")
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	w.awaitLog("configuration refused: the previous one stays in use", "no such file")
	w.write(fmt.Sprintf(watchedYAML, "''", a))
	w.awaitLog("configuration applied: nothing has changed")
}

// TestWatchSignals reloads the file by a signal.
func TestWatchSignals(t *testing.T) {
	t.Parallel()
	a, b := web(t, "a"), web(t, "b")
	accessLog := filepath.Join(t.TempDir(), "access.log")
	good := fmt.Sprintf(watchedYAML, accessLog, a)
	w := watch(t, good)
	hang := func(text string) {
		t.Helper()
		w.write(text)
		w.again <- syscall.SIGHUP
	}

	if err := os.Rename(accessLog, accessLog+".1"); err != nil {
		t.Fatal(err)
	}
	hang(good)
	w.awaitLog("configuration applied: nothing has changed")
	if _, err := os.Stat(accessLog); err != nil {
		t.Errorf("the access log is not opened again: %v", err)
	}

	hang("limits: {queue: 2MiB}\n" + strings.Replace(good, a, b, 1) + "log: {level: debug}\n")
	w.awaitLog("configuration applied", "section=log", "changed=log.level")
	w.awaitLog("configuration applied", "section=limits", "changed=limits.queue")
	w.awaitLog("configuration applied", "section=proxy", "changed=clusters")
	w.expectBody("b")

	hang("data_dir: elsewhere\n")
	w.awaitLog("refused", `err="data_dir: this change needs a restart`, "section=data_dir")
	w.awaitLog("refused", `err="listeners: this change needs a restart`, "section=listeners")
	if _, err := os.Stat("elsewhere"); err == nil {
		t.Error("a refused configuration made its data directory")
	}
	hang(strings.Replace(good, "loops: 1", "loops: 2", 1))
	w.awaitLog("refused", "proxy.loops: this change needs a restart", "section=proxy")
	hang(strings.Replace(strings.Replace(good, "cluster: web", "cluster: wep", 1), "loops: 1", "lops: 1", 1))
	w.awaitLog("refused", `node.yaml:2:3: proxy.lops: unknown field: did you mean \"loops\"?`)
	hang(strings.Replace(strings.Replace(good, "cluster: web", "cluster: wep", 1), a, "nowhere", 1))
	w.awaitLog("refused", `proxy.listeners[0]`)
	w.awaitLog("refused", `proxy.clusters[0].endpoints[0].address`)
	hang(strings.Replace(good, "127.0.0.1:0", b, 1))
	w.awaitLog("refused", "proxy: listener "+b, "in use")
	w.expectBody("b")
	_, metrics := get(t, w.node.Admin()+"metrics")
	for _, line := range []string{`ferry_config_reloads_total{result="applied"} 2`, `ferry_config_reloads_total{result="refused"} 5`, "ferry_config_last_reload_successful 0"} {
		if !strings.Contains(metrics, line) {
			t.Errorf("/metrics has no line %s", line)
		}
	}
}

// TestWatchDependencies: files that the configuration includes or has a value from are watched, and so are token files.
func TestWatchDependencies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeSecret(t, at("value"), "edge-1.example.com")
	writeSecret(t, at("token"), "the-first-token-of-the-server")
	if err := os.Mkdir(at("conf.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := watch(t, fmt.Sprintf("include: '%s'\n", at("conf.d/*.yaml"))+
		fmt.Sprintf(watchedYAML, "''", web(t, "a"))+"log: {level: '${FERRY_TEST_UNDEFINED:info}'}\n")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("conf.d/a.yaml", fmt.Sprintf("admin: {hosts: ['${file:%s}'], token_file: '%s'}\n", at("value"), at("token")))
	w.awaitLog("configuration applied", "section=admin", "admin.hosts", "admin.token_file")
	write("value", "edge-2.example.com")
	w.awaitLog("configuration applied", "section=admin", "changed=admin.hosts")
	if hosts := w.node.config().Admin.Hosts; len(hosts) != 1 || hosts[0] != "edge-2.example.com" {
		t.Errorf("got the hosts %q", hosts)
	}
	write("token", "the-second-token-of-the-server")
	w.awaitLog("configuration applied", "the content of admin.token_file")
	write("conf.d/b.yaml", "limits:\n  quue: 1\n")
	w.awaitLog("refused", at("conf.d/b.yaml")+":2:3: limits.quue: unknown field")
	if err := os.Remove(at("conf.d/b.yaml")); err != nil {
		t.Fatal(err)
	}
	w.awaitLog("configuration applied: nothing has changed")
	write("conf.d/a.yaml", fmt.Sprintf("admin: {hosts: [edge-3.example.com], token_file: '%s'}\n", at("late")))
	w.awaitLog("refused", at("late"))
	write("late", "a-token-that-comes-after-the-configuration")
	w.awaitLog("configuration applied", "section=admin", "admin.hosts", "admin.token_file")
}

// TestWatchErrorPages: the file of an error page is watched, and a page is that of the configuration which counts.
func TestWatchErrorPages(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.txt")
	writeSecret(t, page, "first")
	pages := fmt.Sprintf("cluster: web, error_pages: [{statuses: [400], file: '%s'}]}", page)
	w := watch(t, strings.Replace(fmt.Sprintf(watchedYAML, "''", web(t, "a")), "cluster: web}", pages, 1))
	body := func() string {
		r, err := http.Get("http://" + strings.TrimPrefix(w.node.proxy.Addresses()[0], "http1://") + "/%00")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		got, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	if got := body(); got != "first\n" {
		t.Errorf("got %q", got)
	}
	writeSecret(t, page, "second")
	w.awaitLog("configuration applied", "error_pages")
	if got := body(); got != "second\n" {
		t.Errorf("after a change: got %q", got)
	}
	if err := os.Remove(page); err != nil {
		t.Fatal(err)
	}
	w.awaitLog("refused", w.file+":4:", "error_pages[0].file", page)
	if got := body(); got != "second\n" {
		t.Errorf("after the file is gone: got %q", got)
	}
}

// TestPhasesOfUnreadableFile: a reload of a file that cannot be read has a beginning and an end for a supervisor.
func TestPhasesOfUnreadableFile(t *testing.T) {
	t.Parallel()
	phases := make(chan Phase, 10)
	x := extensions()
	x.Phases = func(p Phase) { phases <- p }
	n, err := Build(quiet(t), x)
	if err != nil {
		t.Fatal(err)
	}
	run(t, n)
	w := watcher{node: n, file: filepath.Join(t.TempDir(), "none.yaml")}
	w.reload()
	for _, want := range []Phase{PhaseReady, PhaseReloading, PhaseReady} {
		select {
		case got := <-phases:
			if got != want {
				t.Errorf("phase %d, want %d", got, want)
			}
		default:
			t.Fatalf("phase %d is missing", want)
		}
	}
}
