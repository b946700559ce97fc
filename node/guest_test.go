package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
)

// testGuest is the guest of the tests of package wasm: the field "do" of a message says what it does.
const testGuest = "../stream/wasm/testdata/guest.wasm"

// guestConfig returns the configuration of a guest, as it is after loading.
func guestConfig(file string) config.Function {
	return config.Function{
		Name: "guest", Wasm: file, Observe: []string{"in/#"}, CPU: config.Heavy, Policy: config.Block,
		Memory: 1 << 20, Timeout: 2 * time.Second, Concurrency: 2,
	}
}

// collect subscribes and returns the payloads that arrive on out/#.
func collect(t *testing.T, c *stream.Client) <-chan string {
	t.Helper()
	got := make(chan string, 100)
	_, err := c.Start(t.Context(), stream.Function{Observe: []string{"out/#"}, Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
		got <- string(in.Payload)
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// expect receives one payload.
func expect(t *testing.T, got <-chan string, want string) {
	t.Helper()
	select {
	case payload := <-got:
		if payload != want {
			t.Errorf("got %q, want %q", payload, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("no message: want %q", want)
	}
}

// TestGuest runs a guest that handles messages, traps and spins. What it does wrong harms no later message.
func TestGuest(t *testing.T) {
	n, c, _ := started(t, []config.Function{guestConfig(testGuest)})
	got := collect(t, c)
	send(t, c, "in/a", `{"do":"c","n":1}`)
	expect(t, got, `{"do":"c","n":1}`)
	for _, wrong := range []string{"x", "s"} {
		send(t, c, "in/a", `{"do":"`+wrong+`"}`)
	}
	send(t, c, "in/a", `{"do":"c","n":2}`)
	expect(t, got, `{"do":"c","n":2}`)
	awaitMetric(t, n, `ferry_function_handled_total{function="guest"} 4`)
	awaitMetric(t, n, `ferry_function_failed_total{function="guest"} 2`)
	awaitMetric(t, n, `ferry_wasm_crashed_total{function="guest"} 2`)
	awaitMetric(t, n, `ferry_function_restarts_total{function="guest"} 2`)
	_, body := get(t, n.Admin()+"api/functions")
	if want := fmt.Sprintf(`"kind":"wasm","guest":{"version":"%s","instances":1,`, n.functions.all()[0].guest.version()); !strings.Contains(body, want) {
		t.Errorf("/api/functions: got %s, want %s", body, want)
	}
}

// TestGuestChanges writes another guest over the file of one that runs.
func TestGuestChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "guest.wasm")
	replaceGuest(t, file, testGuest)
	n, c, _ := started(t, []config.Function{guestConfig(file)})
	got := collect(t, c)
	send(t, c, "in/a", `{"do":"c"}`)
	expect(t, got, `{"do":"c"}`)
	first := n.functions.all()[0]
	if n.guestsChanged() {
		t.Error("a guest that has not changed has changed")
	}
	apply(t, n, func(*config.Config) {})
	if n.functions.all()[0] != first {
		t.Error("a reload without a difference made another function")
	}
	replaceGuest(t, file, "../stream/wasm/testdata/field.wasm") // it fails every message without "value": 42
	if !n.guestsChanged() {
		t.Error("a guest that has changed has not changed")
	}
	apply(t, n, func(*config.Config) {})
	send(t, c, "in/a", `{"do":"c"}`)
	awaitMetric(t, n, `ferry_function_failed_total{function="guest"} 1`)

	if err := os.WriteFile(file, []byte("\x00asm"), 0o600); err != nil {
		t.Fatal(err)
	}
	next := *n.config()
	if err := n.Apply(&next); err == nil || !strings.Contains(err.Error(), "functions[0]: wasm: not a WebAssembly module") {
		t.Errorf("a file that is no module: got %v", err)
	}
	send(t, c, "in/a", `{"do":"c"}`)
	awaitMetric(t, n, `ferry_function_failed_total{function="guest"} 2`)
}

// replaceGuest copies a guest over file.
func replaceGuest(t *testing.T, file, guest string) {
	t.Helper()
	module, err := os.ReadFile(guest)
	if err == nil {
		err = os.WriteFile(file, module, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
