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

// patience bounds the wait for the output or the end of a Java program.
const patience = 2 * time.Minute

// java has the paths of a JDK and of the classes of java/.
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
	out, err := exec.CommandContext(ctx, compiler, "-proc:none", "-encoding", "UTF-8", "-cp", jars, "-d", classes,
		"java/Client.java", "java/Server.java").CombinedOutput()
	if err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	return java{program: program, classpath: classes + string(filepath.ListSeparator) + jars}
}

// command returns the command that runs a class. Its errors go to stderr.
func (j java) command(ctx context.Context, stderr *bytes.Buffer, class string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, j.program, append([]string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", // for a fast start
		"-Dbolt.tcp.heartbeat.interval=100",  // in ms
		"-Dbolt.tcp.heartbeat.maxtimes=1000", // so that connections stay open on a slow machine
		"-cp", j.classpath, class,
	}, args...)...)
	c.Stderr = stderr
	c.WaitDelay = time.Second
	return c
}

// server starts Server and returns its address. Server is stopped when the test ends.
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
		stdin.Close() // makes Server exit
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

// client runs Client and returns the lines of its output.
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
