package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary run as the command in a separate process, because TuneProcess changes the whole process.
func TestMain(m *testing.M) {
	if os.Getenv("CPUSERVER_TEST_RUN") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// start runs the command and returns its address. When the test ends it interrupts the command, which must exit without error.
func start(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "CPUSERVER_TEST_RUN=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if runtime.GOOS == "windows" { // has no interrupt to send
			cmd.Process.Kill()
			cmd.Wait()
			return
		}
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("after an interrupt: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Fatalf("first line %q, %v: want the address", line, err)
	}
	return "http://" + addr
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	answer, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestEndpoints(t *testing.T) {
	for _, row := range []struct {
		mode, path string
		status     int
		body       string // a regular expression
		least      int    // checksums
	}{
		{"pool", "/delay1ms", 200, "^done\n$", 0},
		{"pool", "/checksumWithCpuWorker", 200, "^1[0-9]{4} checksums, [0-9a-f]{8}\n$|^20000 ", 10_000},
		{"pool", "/checksumSmallTaskWithCpuWorker", 200, "^140 checksums, [0-9a-f]{8}\n$", 140},
		{"pool", "/checksumWithoutCpuWorker", 200, "^1[0-9]{4} checksums, [0-9a-f]{8}\n$|^20000 ", 10_000},
		{"plain", "/delay1ms", 200, "^done\n$", 0},
		{"plain", "/checksumWithCpuWorker", 404, "", 0},
		{"plain", "/checksumSmallTaskWithCpuWorker", 404, "", 0},
		{"plain", "/checksumWithoutCpuWorker", 200, "^1[0-9]{4} checksums, [0-9a-f]{8}\n$|^20000 ", 10_000},
	} {
		t.Run(row.mode+row.path, func(t *testing.T) {
			url := start(t, "-addr", "127.0.0.1:0", "-mode", row.mode)
			status, body := get(t, url+row.path)
			if status != row.status || !regexp.MustCompile(row.body).MatchString(body) {
				t.Errorf("got %d %q, want %d %s", status, body, row.status, row.body)
			}
			_, body = get(t, url+"/stats")
			var stats struct{ Checksums int }
			err := json.Unmarshal([]byte(body), &stats)
			if err != nil || stats.Checksums < row.least || row.least == 0 && stats.Checksums > 0 {
				t.Errorf("stats: got %q, %v; want %d checksums or more, none for 0", body, err, row.least)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"mode", []string{"-mode", "fast"}, `mode "fast"`},
		{"arguments", []string{"here"}, `arguments ["here"]`},
		{"a port in use", []string{"-addr", taken.Addr().String()}, "-addr"},
		{"which one", []string{"-addr", taken.Addr().String()}, taken.Addr().String() + ": bind: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := run(ctx, row.args, io.Discard); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}
