package interop

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
)

// patience is how long the test waits for a Java program that has something to say, or is to end.
const patience = 2 * time.Minute

// java is a JDK, and the classes of java/ with what they need.
type java struct {
	program   string
	classpath string
}

// newJava compiles java/.
func newJava(t *testing.T) java {
	t.Helper()
	program, err1 := exec.LookPath("java")
	compiler, err2 := exec.LookPath("javac")
	jars, err3 := filepath.Abs("../../bin/java")
	bolt, _ := filepath.Glob(filepath.Join(jars, "bolt-*.jar"))
	if err1 != nil || err2 != nil || err3 != nil || len(bolt) == 0 {
		needs.Missing(t, "Java and the sofa-bolt jars", "make deps")
	}
	jars = filepath.Join(jars, "*")
	classes := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, compiler, "-Xlint:all", "-Werror", "-encoding", "UTF-8", "-cp", jars, "-d", classes,
		"java/Client.java", "java/Server.java").CombinedOutput()
	if err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	return java{program: program, classpath: classes + string(filepath.ListSeparator) + jars}
}

// command is a class's main program with that much to say about itself: what it says beside its output goes to stderr.
func (j java) command(ctx context.Context, stderr *bytes.Buffer, class string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, j.program, append([]string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", // starts fast
		"-Dbolt.tcp.heartbeat.interval=100",  // ms
		"-Dbolt.tcp.heartbeat.maxtimes=1000", // a slow machine is no reason to close
		"-cp", j.classpath, class,
	}, args...)...)
	c.Stderr = stderr
	c.WaitDelay = time.Second
	return c
}

// server starts Server and returns its address. It ends with the test.
func (j java) server(t *testing.T) string {
	t.Helper()
	stderr := new(bytes.Buffer)
	ctx, cancel := context.WithCancel(context.Background())
	c := j.command(ctx, stderr, "Server")
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() // it ends by itself then
		time.AfterFunc(patience, cancel)
		c.Wait()
		cancel()
		if t.Failed() {
			t.Logf("server: %s", stderr)
		}
	})
	give := time.AfterFunc(patience, cancel)
	defer give.Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	port, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("the server's first line is %q (%v), want: listening on PORT", line, err)
	}
	return "127.0.0.1:" + port
}

// client runs Client to its end and returns what it printed, line by line.
func (j java) client(t *testing.T, address, mode string) []string {
	t.Helper()
	stderr := new(bytes.Buffer)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := j.command(ctx, stderr, "Client", address, mode).Output()
	if err != nil {
		t.Errorf("client: %v\n%s", err, stderr)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// printed is what Client prints where all went well.
func printed(switched, noSuchService, connection string) []string {
	return []string{
		"sync: 20, answers with the crc switch " + switched,
		"future: 20",
		"callback: 20",
		"oneway: 20",
		"exception: 1",
		"timeout: 1",
		"out of order: 64",
		"without crc: 20, answers with the crc switch 0",
		"100 KB: 3",
		"1 MB: 3",
		"heartbeat: 5",
		"no such service: 1, " + noSuchService,
		"connection: 1, " + connection,
	}
}

// TestJava has the real client call the real server, in all three versions of the protocol at the same time.
func TestJava(t *testing.T) {
	j := newJava(t)
	server := j.server(t)
	for _, topology := range []struct {
		name          string
		address       func(t *testing.T) string
		noSuchService string
	}{
		{"direct", func(*testing.T) string { return server }, "Server deserialize request exception"},
	} {
		t.Run(topology.name, func(t *testing.T) {
			address := topology.address(t)
			for _, mode := range []struct {
				name string
				want []string
			}{
				{"v1", printed("0", topology.noSuchService, "protocol 1 version 1")},
				{"v2", printed("20", topology.noSuchService, "protocol 2 version 1")}, // with the switch, and without a CRC, as the library has it
				{"crc", printed("20", topology.noSuchService, "protocol 2 version 2")},
			} {
				t.Run(mode.name, func(t *testing.T) {
					t.Parallel()
					got := j.client(t, address, mode.name)
					for i := range max(len(got), len(mode.want)) {
						if g, w := line(got, i), line(mode.want, i); g != w {
							t.Errorf("line %d:\n got %s\nwant %s", i+1, g, w)
						}
					}
				})
			}
		})
	}
}

// line returns a line, or that there is none.
func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(no line)"
}
