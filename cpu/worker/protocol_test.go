package worker

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/needs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// vectors lists a session, frame by frame, as docs/worker.md shows it.
func vectors() string {
	request := ferry.Message{Tag: "a/b", Type: ferry.JSON, Source: 7, To: 9, Time: 1_700_000_000_000_000_001, Payload: []byte(`{"v":1}`)}
	response := ferry.Message{Tag: "c", Payload: []byte("ok")}
	rows := []struct {
		comment string
		frame   []byte
	}{
		{"parent: HELLO version 1, payloads of up to 4 MiB", helloFrame(4 << 20)},
		{"worker: HELLO, the same", helloFrame(4 << 20)},
		{`parent: MESSAGE, request 1: json, source 7, to 9, time 1700000000000000001, tag "a/b", payload {"v":1}`, appendMessage(nil, &request)},
		{"parent: MESSAGE, request 2: all fields empty", appendMessage(nil, &ferry.Message{})},
		{`worker: MESSAGE, a response to request 1: raw, tag "c", payload "ok"`, appendMessage(nil, &response)},
		{"worker: END of request 1: done", appendEnd(nil, 1, done, "")},
		{`worker: END of request 2: failed, "nothing to do"`, appendEnd(nil, 2, failed, "nothing to do")},
		{"parent: CANCEL requests up to 3", cancelFrame(3)},
		{`worker: END of request 3: panicked, "index out of range"`, appendEnd(nil, 3, panicked, "index out of range")},
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "# %s\n%s\n", row.comment, hex.EncodeToString(row.frame))
	}
	return b.String()
}

// TestVectors: encoding gives the frames of testdata/vectors.txt, which docs/worker.md shows. Parsing the frames gives their
// content.
func TestVectors(t *testing.T) {
	const file = "testdata/vectors.txt"
	if *update {
		if err := os.WriteFile(file, []byte(vectors()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := vectors(); got != string(want) {
		t.Errorf("the frames are\n%s\nwant\n%s", got, want)
	}
	doc, err := os.ReadFile("../../docs/worker.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "```\n"+string(want)+"```\n") {
		t.Errorf("docs/worker.md does not hold %s as it stands", file)
	}
	for line := range strings.Lines(string(want)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		frame, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		r := &frameReader{r: strings.NewReader(string(frame)), max: maxFrame(4 << 20)}
		k, body, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		var again []byte
		switch k {
		case hello:
			size, err := parseHello(body)
			if err != nil {
				t.Fatal(err)
			}
			again = helloFrame(size)
		case message:
			m, err := parseMessage(body, "")
			if err != nil {
				t.Fatal(err)
			}
			again = appendMessage(nil, &m)
		case end:
			number, handled, err := parseEnd(body)
			if err != nil {
				t.Fatal(err)
			}
			again = appendEnd(nil, number, done, "")
			var failure *HandlerError
			if errors.As(handled, &failure) {
				s := failed
				if failure.Panic {
					s = panicked
				}
				again = appendEnd(nil, number, s, failure.Text)
			}
		case cancel:
			number, err := parseCancel(body)
			if err != nil {
				t.Fatal(err)
			}
			again = cancelFrame(number)
		}
		if string(again) != string(frame) {
			t.Errorf("%x is parsed and written again as %x", frame, again)
		}
	}
}

// TestHelloIsBounded: a HELLO with a largest payload above the protocol's limit is refused. Such a payload could exceed an int
// of 32 bits.
func TestHelloIsBounded(t *testing.T) {
	for _, size := range []uint32{maxMaxMessage + 1, 1 << 31, 1<<32 - 1} {
		r := &frameReader{r: strings.NewReader(string(helloFrame(int(size & (1<<31 - 1))))), max: maxHello}
		_, body, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		copy(body[len(body)-4:], []byte{byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)})
		var wrong *ProtocolError
		if got, err := parseHello(body); !errors.As(err, &wrong) {
			t.Errorf("a largest payload of %d: %d, %v, want a ProtocolError", size, got, err)
		}
	}
}

// TestPythonWorker runs a worker that follows docs/worker.md only.
func TestPythonWorker(t *testing.T) {
	if err := testOtherLanguage(t, []string{needs.Program(t, "python3"), "testdata/upper.py"}, "nothing to do").Close(); err != nil {
		t.Error(err)
	}
}

// TestNodeWorker runs a worker with the file that ferry new function --lang javascript copies, and cancels what it handles, also what never ends.
func TestNodeWorker(t *testing.T) {
	node, dir := needs.Program(t, "node"), t.TempDir()
	for to, from := range map[string]string{"ferry_worker.mjs": "../../cmd/ferry/scaffold/templates/javascript/ferry_worker.mjs.tmpl", "upper.mjs": "testdata/upper.mjs"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := testOtherLanguage(t, []string{node, filepath.Join(dir, "upper.mjs")}, "Error: nothing to do")
	for _, tag := range []string{"wait", "endless"} {
		ctx, cancel := context.WithCancel(t.Context())
		begun := senderFunc(func(context.Context, ferry.Message) error {
			cancel()
			return nil
		})
		if err := p.Handle(ctx, &ferry.Message{Tag: tag, Payload: []byte("x")}, begun); err == nil {
			t.Errorf("%s: a cancelled message: no error", tag)
		}
	}
	var failure *HandlerError
	if err := p.Handle(t.Context(), &ferry.Message{Tag: "no tag", Payload: []byte("x")}, nil); !errors.As(err, &failure) || failure.Text != "TypeError: a handler returns messages, and each has a tag" {
		t.Errorf("a message without a tag: %v", err)
	}
	if got, err := p.Call(t.Context(), []byte("hello"), nil); err != nil || string(got) != "HELLO" {
		t.Errorf("after a cancelled message: Call = %q, %v", got, err)
	}
	if s := p.Stats(); s.Died != 0 || s.Ended != 0 {
		t.Errorf("%+v: want no process to have ended", s)
	}
}

// testOtherLanguage runs a program whose responses are its requests in capitals. nothing is its error for an empty one.
func testOtherLanguage(t *testing.T, command []string, nothing string) *Pool {
	t.Helper()
	p, err := Start(Config{Name: "upper", Command: command, Workers: 2, StartTimeout: time.Minute, Grace: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	got, err := p.Call(t.Context(), []byte("hello"), nil)
	if err != nil || string(got) != "HELLO" {
		t.Errorf("Call = %q, %v", got, err)
	}
	var failure *HandlerError
	if _, err := p.Call(t.Context(), nil, nil); !errors.As(err, &failure) || failure.Text != nothing {
		t.Errorf("an empty payload: %v, want the worker's error", err)
	}
	batch := make([]ferry.Message, 100)
	for i := range batch {
		batch[i] = ferry.Message{Tag: "t/é", Type: ferry.JSON, Time: -1, Payload: fmt.Appendf(nil, "n%d", i)}
	}
	var all []string
	sender := senderFunc(func(_ context.Context, m ferry.Message) error {
		if m.Tag != "t/é" || m.Type != ferry.JSON {
			t.Errorf("a response on tag %q of type %v", m.Tag, m.Type)
		}
		all = append(all, string(m.Payload))
		return nil
	})
	if err := p.HandleBatch(t.Context(), batch, sender); err != nil {
		t.Fatal(err)
	}
	for i, payload := range all {
		if want := fmt.Sprintf("N%d", i); payload != want {
			t.Errorf("response %d is %q, want %q", i, payload, want)
		}
	}
	if len(all) != len(batch) {
		t.Errorf("%d responses to %d messages", len(all), len(batch))
	}
	for i := range batch { // exceeds the sockets' buffers in both directions
		batch[i].Payload = []byte(strings.Repeat("x", 30_000))
	}
	all = nil
	if err := p.HandleBatch(t.Context(), batch, sender); err != nil || len(all) != len(batch) {
		t.Fatalf("%d responses to %d large messages: %v", len(all), len(batch), err)
	}
	large := strings.Repeat("x", 4<<20)
	if got, err := p.Call(t.Context(), []byte(large), nil); err != nil || string(got) != strings.ToUpper(large) {
		t.Errorf("a payload of MaxMessage: %d bytes, %v", len(got), err)
	}
	if s := p.Stats(); s.Died != 0 || s.Ended != 0 {
		t.Errorf("%+v: want no process to have ended", s)
	}
	return p
}

type senderFunc func(context.Context, ferry.Message) error

func (f senderFunc) Send(ctx context.Context, m ferry.Message) error { return f(ctx, m) }
