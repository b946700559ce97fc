package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/node/config"
)

const proxyYAML = `proxy:
  access_log: {file: access.log}
  listeners:
    - address: 127.0.0.1:0
      protocol: http1
      cluster: web
  clusters:
    - name: web
      endpoints: [{address: '%s'}]
admin: {address: '127.0.0.1:0'}
`

// webServer starts a server that responds with its name after a millisecond.
func webServer(t *testing.T, name string) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Millisecond)
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, name)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// clientLoad is a number of clients that send requests without a pause over keep-alive connections.
type clientLoad struct {
	stop     chan struct{}
	done     sync.WaitGroup
	requests atomic.Int64
	last     atomic.Value // body of the last response
	fails    chan string
}

func startLoad(url string, clients int) *clientLoad {
	l := &clientLoad{stop: make(chan struct{}), fails: make(chan string, clients)}
	for range clients {
		client := &http.Client{Transport: &http.Transport{}}
		l.done.Go(func() {
			defer client.CloseIdleConnections()
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				response, err := client.Post(url, "text/plain", strings.NewReader("a request that is not repeated"))
				if err != nil {
					l.fails <- err.Error()
					return
				}
				body, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK {
					l.fails <- fmt.Sprintf("%s %q, %v", response.Status, body, err)
					return
				}
				l.last.Store(string(body))
				l.requests.Add(1)
			}
		})
	}
	return l
}

// awaitBody waits until a response of the load has the body want.
func (l *clientLoad) awaitBody(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); l.last.Load() != want; {
		if time.Now().After(end) {
			t.Fatalf("the last response is %v, want %s", l.last.Load(), want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// end stops the load and checks that no request failed.
func (l *clientLoad) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.done.Wait()
	close(l.fails)
	for f := range l.fails {
		t.Errorf("a request failed: %s", f)
	}
	if l.requests.Load() == 0 {
		t.Error("the load sent no request")
	}
}

// TestRunReloads reloads a proxy under load, by a signal and by a change of the file, and no request fails. A wrong file changes
// nothing.
func TestRunReloads(t *testing.T) {
	t.Parallel()
	a, b := webServer(t, "a"), webServer(t, "b")
	n := runNode(t, fmt.Sprintf(proxyYAML, a))
	write := func(text string) { // by a rename, so that ferry reads no half-written file
		t.Helper()
		next := filepath.Join(n.dir, "next.yaml")
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(n.dir, "node.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	hangup := func() {
		t.Helper()
		if err := n.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	address := regexp.MustCompile(`http1://(\S+)`).FindStringSubmatch(n.welcome)
	if address == nil {
		t.Fatalf("no address in %s", n.welcome)
	}
	l := startLoad("http://"+address[1]+"/", 8)
	l.awaitBody(t, "a")

	write(fmt.Sprintf(proxyYAML, b))
	n.await(t, "configuration applied")
	l.awaitBody(t, "b")

	write(strings.Replace(fmt.Sprintf(proxyYAML, a), "cluster: web", "cluster: wep", 1))
	hangup()
	n.await(t, `configuration refused: the previous one stays in use" file=node.yaml err="node.yaml:6:16: proxy.listeners[0].cluster: `)
	l.awaitBody(t, "b")

	text := fmt.Sprintf(proxyYAML, b)
	for range 10 {
		text = strings.NewReplacer(a, b, b, a).Replace(text)
		write(text)
		hangup()
		n.await(t, "configuration applied")
	}
	l.awaitBody(t, "b")

	write(text + "cpu: {queue: 2000}\n")
	hangup()
	n.await(t, "cpu.queue: this change needs a restart")
	write(text)

	moved := filepath.Join(n.dir, "access.log.1")
	if err := os.Rename(filepath.Join(n.dir, "access.log"), moved); err != nil {
		t.Fatal(err)
	}
	hangup()
	n.await(t, "configuration applied")
	fresh := filepath.Join(n.dir, "access.log")
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(fresh); err == nil && info.Size() > 0 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the access log was not begun again: %v", err)
		}
	}
	l.end(t)

	if err := n.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	n.await(t, "node stopped")
	if err := n.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	lines := int64(0)
	for _, name := range []string{moved, fresh} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += int64(strings.Count(string(data), "\n"))
	}
	if sent := l.requests.Load(); lines != sent {
		t.Errorf("%d lines in the access logs, want one for each of %d requests", lines, sent)
	}
}

// TestDocumentedConfigurations checks the configurations in the pages: blocks of YAML that begin with a section. The files that they
// name are missing.
func TestDocumentedConfigurations(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	extensions := builtin()
	block := regexp.MustCompile("(?s)```yaml\n((?:#[^\n]*\n)*(?:proxy|listeners|streams|engine|forward|bridges|functions|serve|mqtt|identities|include):.*?)```")
	missing := regexp.MustCompile("no such file|cannot find the")
	for _, name := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range block.FindAllSubmatch(text, -1) {
			if _, err := config.Parse(name, b[1], extensions.Program()); err != nil {
				for line := range strings.Lines(err.Error()) {
					if strings.HasPrefix(line, name) && !missing.MatchString(line) {
						t.Error(line)
					}
				}
			}
		}
	}
}
