//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds each step. It is long because the machine may run many tests at once.
const patience = time.Minute

const configuration = `data_dir: %[1]s
listeners: [{address: 'tcp://%[2]s'}, {address: 'mqtt://%[3]s'}]
engine: {address: embedded, sync: interval}
streams: [{name: orders, tags: orders/#, delivery: at-least-once, redelivery: {backoff: [50ms], wait: 5s}}]
proxy:
  listeners: [{address: '%[4]s', protocol: http, cluster: web}]
  clusters: [{name: web, endpoints: [{address: '%[5]s'}]}]
  access_log: {file: %[1]s/access.log}
admin: {address: '%[6]s'}
live: {sensors: false}
`

// server is a process of ferry run, which can be started again at the same addresses.
type server struct {
	t                      *testing.T
	file, data             string
	tcp, mqtt, http, admin string
	wrap                   []string // a command line that the program's is appended to
	env                    []string

	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of the process; set when ended is closed
	log   *lines
}

// newServer returns a node that was not started, with files in dir. The server behind its proxy does not respond to /wait.
func newServer(t *testing.T, dir string) *server {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			<-r.Context().Done()
		}
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(web.Close)
	ports := freePorts(t, 4)
	s := &server{
		t: t, file: filepath.Join(dir, "node.yaml"), data: filepath.Join(dir, "data"),
		tcp: ports[0], mqtt: ports[1], http: ports[2], admin: ports[3], log: &lines{},
	}
	text := fmt.Sprintf(configuration, s.data, s.tcp, s.mqtt, s.http, web.Listener.Addr(), s.admin)
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.signal(syscall.SIGKILL)
		s.wait()
		for message, n := range s.log.messages() {
			if n > 30 {
				t.Errorf("the log has %d lines %q", n, message)
			}
		}
		if t.Failed() {
			t.Logf("log of the node:\n%s", s.log)
		}
	})
	return s
}

// start starts the process and waits until it is ready.
func (s *server) start() {
	s.t.Helper()
	args := append(append([]string{}, s.wrap...), os.Args[0], "run", "-c", s.file)
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Env = append(append(os.Environ(), asFerry+"=1"), s.env...)
	s.cmd.Stderr, s.cmd.Stdout = s.log, io.Discard
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		s.err = cmd.Wait()
		close(ended)
	}(s.cmd, s.ended)
	s.await("the node is ready", func() bool {
		select {
		case <-s.ended:
			s.t.Fatalf("the node ended: %v", s.err)
		default:
		}
		status, _ := s.get("/ready")
		return status == http.StatusOK
	})
}

func (s *server) signal(sig syscall.Signal) {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig) // it may have ended
	}
}

// wait waits for the end of the process and returns its exit status.
func (s *server) wait() int {
	s.t.Helper()
	if s.cmd == nil {
		return 0
	}
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Errorf("the node does not end within %v", patience)
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	var exit *exec.ExitError
	if errors.As(s.err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// client has connections of its own for each request, as a prober does.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// get requests a path of the admin server. status is 0 if there was no response within 5 s.
func (s *server) get(path string) (status int, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, strings.TrimSpace(string(b))
}

// metric returns the value of a metric without labels, or with those that name has.
func (s *server) metric(name string) float64 {
	s.t.Helper()
	var value float64
	s.await("the metric "+name, func() bool {
		_, body := s.get("/metrics")
		for line := range strings.Lines(body) {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
				if err != nil {
					s.t.Fatal(err)
				}
				value = v
				return true
			}
		}
		return false
	})
	return value
}

// await calls ok until it returns true.
func (s *server) await(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// named fails the test unless the log has a line with text, and no more than a few. It waits for the first.
func (s *server) named(text string) {
	s.t.Helper()
	s.await("a line about "+text, func() bool { return s.log.count(text) > 0 })
	if n := s.log.count(text); n > 6 {
		s.t.Errorf("%d lines say %q", n, text)
	}
}

// cpu returns the time of the processor that the process has used.
func (s *server) cpu() time.Duration {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')'):])) // from field 2 on: proc_pid_stat(5)
	user, err1 := strconv.Atoi(fields[12])
	system, err2 := strconv.Atoi(fields[13])
	if err1 != nil || err2 != nil {
		s.t.Fatal(err1, err2)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memory returns the anonymous memory of the process in bytes.
func (s *server) memory() int64 {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	s.t.Fatal("/proc has no RssAnon")
	return 0
}

// freePorts returns addresses at which nothing listens. They are below the ports that the system gives to outgoing connections (32768
// and up), one of which could otherwise have the port of a node that starts again.
func freePorts(t *testing.T, n int) (all []string) {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000)))
		if err != nil {
			continue
		}
		defer l.Close()
		if all = append(all, l.Addr().String()); len(all) == n {
			return all
		}
	}
	t.Fatal("no port is free")
	return nil
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// count returns how many lines have text.
func (l *lines) count(text string) (n int) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// messages returns how often the log has each message.
func (l *lines) messages() map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(l.String()) {
		if _, rest, ok := strings.Cut(line, " msg="); ok {
			message, _, _ := strings.Cut(rest, "=")
			counts[message]++
		}
	}
	return counts
}
