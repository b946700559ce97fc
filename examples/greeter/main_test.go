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

// TestMain lets the test binary run as the command, so that the test meets the ports that the comment of main names.
func TestMain(m *testing.M) {
	if os.Getenv("GREETER_TEST_RUN") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestGreeter starts the server without arguments, and calls it over HTTP and by the example's client.
func TestGreeter(t *testing.T) {
	cmd := exec.Command(os.Args[0])
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
	for _, want := range []string{"rpc on 127.0.0.1:9101\n", "grpc on 127.0.0.1:9102\n", "http on 127.0.0.1:9103\n"} {
		if line, err := lines.ReadString('\n'); err != nil || line != want {
			t.Fatalf("got line %q, %v, want %q", line, err, want)
		}
	}
	for _, method := range []string{"Greeter.Hello", "greeter.Greeter.Hello"} {
		body := `{"jsonrpc":"2.0","method":"` + method + `","params":{"name":"Bo"},"id":1}`
		resp, err := http.Post("http://127.0.0.1:9103", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := `{"jsonrpc":"2.0","result":{"message":"Hello, Bo"},"id":1}`; err != nil || string(text) != want {
			t.Errorf("%s: got %s, %v, want %s", method, text, err, want)
		}
	}
	text, err := exec.Command("go", "run", "./client", "Bo").CombinedOutput()
	if want := "rpc: Hello, Bo\ngrpc: Hello, Bo\nhttp: Hello, Bo\n"; err != nil || string(text) != want {
		t.Errorf("the client: got %s, %v, want %s", text, err, want)
	}
}
