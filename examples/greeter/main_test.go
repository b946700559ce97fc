package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestMain lets the test binary run as the command.
func TestMain(m *testing.M) {
	if os.Getenv("GREETER_TEST_RUN") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestGreeter starts the server on free ports, and calls it over HTTP and by the example's client.
func TestGreeter(t *testing.T) {
	const free = "127.0.0.1:0"
	cmd := exec.Command(os.Args[0], "-native", free, "-grpc", free, "-http", free)
	cmd.Env = append(os.Environ(), "GREETER_TEST_RUN=1")
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
	lines := bufio.NewReader(out)
	var addrs []string
	for _, want := range []string{"rpc on ", "grpc on ", "http on "} {
		line, err := lines.ReadString('\n')
		addr, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), want)
		if err != nil || !ok {
			t.Fatalf("got line %q, %v, want %qADDRESS", line, err, want)
		}
		addrs = append(addrs, addr)
	}
	for _, method := range []string{"Greeter.Hello", "greeter.Greeter.Hello"} {
		body := `{"jsonrpc":"2.0","method":"` + method + `","params":{"name":"Bo"},"id":1}`
		resp, err := http.Post("http://"+addrs[2], "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := `{"jsonrpc":"2.0","result":{"message":"Hello, Bo"},"id":1}`; err != nil || string(text) != want {
			t.Errorf("%s: got %s, %v, want %s", method, text, err, want)
		}
	}
	text, err := exec.Command("go", "run", "./client", "-native", addrs[0], "-grpc", addrs[1], "-http", addrs[2], "Bo").CombinedOutput()
	if want := "rpc: Hello, Bo\ngrpc: Hello, Bo\nhttp: Hello, Bo\n"; err != nil || string(text) != want {
		t.Errorf("the client: got %s, %v, want %s", text, err, want)
	}
}
