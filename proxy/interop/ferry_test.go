package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// built is the directory of the program ferry. It is empty before build.
var built string

// build builds the program ferry once.
var build = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "interop"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "ferry")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/ferry").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// ferry is a process of the program ferry that runs an example of examples/proxy.
type ferry struct {
	t     *testing.T
	ports map[string]string // actual address for each port in the file
	pid   int
}

var loopback = regexp.MustCompile(`127\.0\.0\.1:(\d+)`)

// run starts ferry with an example. servers maps ports of the file to the addresses of servers. The addresses of
// listeners are replaced by free ones. edit has further pairs of old and new text. The process is stopped when the
// test ends, and the test fails if the exit status is not 0.
func run(t *testing.T, example string, servers map[string]string, edit ...string) *ferry {
	t.Helper()
	text, err := os.ReadFile("../../examples/proxy/" + example)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(edit); i += 2 {
		if !bytes.Contains(text, []byte(edit[i])) {
			t.Fatalf("%s has no %q", example, edit[i])
		}
	}
	return runText(t, example, strings.NewReplacer(edit...).Replace(string(text)), servers)
}

// runText is run for the text of a configuration.
func runText(t *testing.T, name, text string, servers map[string]string) *ferry {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains("\n"+text, "\ndrain:") {
		text += "\ndrain: {timeout: 1m}\n" // a busy machine may need more than the default after an attack
	}
	file := filepath.Join(t.TempDir(), name)
	f := &ferry{t: t}
	onFreePort(t, func() (*exec.Cmd, string) {
		f.ports = map[string]string{}
		changed := loopback.ReplaceAllStringFunc(text, func(s string) string {
			port := strings.TrimPrefix(s, "127.0.0.1:")
			switch {
			case servers[port] != "":
				f.ports[port] = servers[port]
			case f.ports[port] == "":
				f.ports[port] = freePort(t)
			}
			return f.ports[port]
		})
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(program, "run", "-c", file)
		c.Dir = filepath.Dir(file)
		return c, "ferry forwards"
	}, func(c *exec.Cmd) { f.pid = c.Process.Pid })
	return f
}

// at returns the address that replaces a port of the file.
func (f *ferry) at(port string) string {
	f.t.Helper()
	if f.ports[port] == "" {
		f.t.Fatalf("no port %s in the example", port)
	}
	return f.ports[port]
}

// url returns the URL for a port of the file.
func (f *ferry) url(port string) string { return "http://" + f.at(port) }

var anonymous = regexp.MustCompile(`(?m)^RssAnon:\s+(\d+) kB$`)

// memory returns the private memory of the process in MiB, without the program's own pages. It is 0 on systems
// without /proc.
func (f *ferry) memory() int {
	f.t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.pid))
	if err != nil {
		f.t.Error(err)
		return 0
	}
	m := anonymous.FindSubmatch(text)
	if m == nil {
		f.t.Errorf("no RssAnon in %s", text)
		return 0
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		f.t.Error(err)
	}
	return n >> 10
}

// watch measures the memory until stop is called. stop returns the maximum. The test fails if the maximum is above
// the budget, in MiB.
func (f *ferry) watch(budget int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	most := make(chan int)
	go func() {
		n := 0
		for ctx.Err() == nil {
			n = max(n, f.memory())
			time.Sleep(10 * time.Millisecond)
		}
		most <- n
	}()
	return func() {
		f.t.Helper()
		cancel()
		n := <-most
		f.t.Logf("ferry had %d MiB of memory at most", n)
		if n > budget {
			f.t.Errorf("ferry had %d MiB of memory, want %d at most", n, budget)
		}
	}
}

// freePort returns an address without a listener. Another process may start to listen there before the test does.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// onFreePort starts a program and waits until the program prints a line that contains ready. If the program ends
// before, its port may be in use, so onFreePort starts it again. The program is stopped when the test ends, and the
// test fails if the exit status is not 0.
func onFreePort(t *testing.T, command func() (c *exec.Cmd, ready string), started func(*exec.Cmd)) {
	t.Helper()
	var said string
	for range 3 {
		c, ready := command()
		stderr := new(bytes.Buffer)
		c.Stderr = stderr
		c.WaitDelay = patience
		stdout, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(patience, func() { c.Process.Kill() })
		lines, found := bufio.NewScanner(stdout), false
		for !found && lines.Scan() {
			found = strings.Contains(lines.Text(), ready)
		}
		kill.Stop()
		if !found {
			c.Wait()
			said = stderr.String()
			continue
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			for lines.Scan() {
			}
		}()
		t.Cleanup(func() {
			c.Process.Signal(syscall.SIGTERM)
			kill := time.AfterFunc(patience, func() { c.Process.Kill() })
			defer kill.Stop()
			<-read
			err := c.Wait()
			if err != nil {
				t.Errorf("%s: %v", c.Path, err)
			}
			if t.Failed() {
				t.Logf("%s: %s", c.Path, stderr)
			}
		})
		started(c)
		return
	}
	t.Fatalf("a program does not start: %s", said)
}
