package wasm_test

//go:generate npx --yes --package wabt@1 -- wat2wasm testdata/guest.wat -o testdata/guest.wasm
//go:generate npx --yes --package wabt@1 -- wat2wasm testdata/field.wat -o testdata/field.wasm
//go:generate npx --yes --package wabt@1 -- wat2wasm testdata/payload.wat -o testdata/payload.wasm

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/y3"
	"example.com/ferry/stream/wasm"
)

//go:embed testdata/guest.wasm
var guest []byte

// recorder is a Sender that keeps clones.
type recorder struct {
	mu   sync.Mutex
	sent []ferry.Message
}

func (r *recorder) Send(_ context.Context, m ferry.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, m.Clone())
	return nil
}

func formats() []format.Format { return []format.Format{json.Format{}, cbor.Format{}, y3.Format{}} }

// start returns a Pool of the guest.
func start(t testing.TB, cfg wasm.Config) *wasm.Pool {
	t.Helper()
	cfg.Formats = formats()
	p, err := wasm.Start(t.Context(), guest, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// do passes {"do":what} to the guest.
func do(t *testing.T, p *wasm.Pool, what string) ([]ferry.Message, error) {
	t.Helper()
	var out recorder
	err := p.Handle(t.Context(), &ferry.Message{Tag: "in", Type: ferry.JSON, Payload: []byte(`{"do":"` + what + `"}`)}, &out)
	return out.sent, err
}

func TestHandle(t *testing.T) {
	t.Parallel()
	p := start(t, wasm.Config{})
	in := ferry.Message{
		Tag: "in/a", Type: ferry.JSON, Payload: []byte(`{"do":"copy","rest":[1,2,3]}`), Time: 12345, Key: []byte("key"), Sequence: 7, Deliveries: 2,
	}
	var out recorder
	if err := p.Handle(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	in.Payload = []byte(`{"do":"tag"}`)
	if err := p.Handle(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	in.Payload = []byte(`{"do":"w","n":1}`)
	if err := p.Handle(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`{"do":"copy","rest":[1,2,3]}`, "\x07\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00in/a", `{"do":"w","n":1}`} {
		got := out.sent[i]
		if got.Tag != "out/text" || got.Type != ferry.JSON || got.Time != 12345 || string(got.Key) != "key" || string(got.Payload) != want {
			t.Errorf("message %d: got %+v with payload %q, want %q", i, got, got.Payload, want)
		}
	}
	if s := p.Stats(); s.Handled != 3 || s.Failed != 0 || s.Crashed != 0 || s.Instances != 1 || s.Started != 1 {
		t.Errorf("got %+v, want 3 handled by 1 instance", s)
	}
}

// TestLookup checks the 16 bytes of a value, its kind and its content.
func TestLookup(t *testing.T) {
	t.Parallel()
	p := start(t, wasm.Config{})
	bits := func(v uint64) string { return string(binary.LittleEndian.AppendUint64(nil, v)) }
	word := func(v uint32) string { return string(binary.LittleEndian.AppendUint32(nil, v)) }
	value := func(kind int32, b uint64, flags uint32, content string) string {
		return bits(b) + word(uint32(len(content))) + word(flags) + word(uint32(kind)) + content
	}
	for _, row := range []struct {
		name, payload, want string
		typ                 ferry.Type
	}{
		{"missing", `{"do":"v"}`, value(int32(field.Missing), 0, 0, ""), ferry.JSON},
		{"null", `{"do":"v","value":null}`, value(int32(field.Null), 0, 0, ""), ferry.JSON},
		{"bool", `{"do":"v","value":true}`, value(int32(field.Bool), 1, 0, ""), ferry.JSON},
		{"integer", `{"do":"v","value":-7}`, value(int32(field.Int), math.MaxUint64-6, 0, ""), ferry.JSON},
		{"unsigned", `{"do":"v","value":18446744073709551615}`, value(int32(field.Int), math.MaxUint64, 1, ""), ferry.JSON},
		{"float", `{"do":"v","value":12.5}`, value(int32(field.Float), math.Float64bits(12.5), 0, ""), ferry.JSON},
		{"text", `{"do":"v","value":"a\nb"}`, value(int32(field.Text), 0, 0, "a\nb"), ferry.JSON},
		{"list", `{"do":"v","value":[1,2]}`, value(int32(field.List), 0, 0, "[1,2]"), ferry.JSON},
		{"map", `{"do":"v","value":{"a":1}}`, value(int32(field.Map), 0, 0, `{"a":1}`), ferry.JSON},
		{"bytes", "\xa2\x62do\x61v\x65value\x42\x00\xff", value(int32(field.Bytes), 0, 0, "\x00\xff"), ferry.CBOR},
		{"malformed", `{"do":"v","value":`, value(-1, 0, 0, ""), ferry.JSON},
	} {
		var out recorder
		if err := p.Handle(t.Context(), &ferry.Message{Type: row.typ, Payload: []byte(row.payload)}, &out); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if len(out.sent) != 1 || string(out.sent[0].Payload) != row.want {
			t.Errorf("%s: got %d messages, the last %q, want %q", row.name, len(out.sent), last(out.sent), row.want)
		}
	}
}

// TestKinds checks the numbers that docs/wasm.md gives to guests.
func TestKinds(t *testing.T) {
	t.Parallel()
	kinds := []field.Kind{
		field.Missing, field.Untyped, field.Null, field.Bool, field.Int, field.Float, field.Text, field.Bytes, field.List, field.Map, field.Extension,
	}
	for want, kind := range kinds {
		if int(kind) != want {
			t.Errorf("%v is %d, want %d", kind, kind, want)
		}
	}
}

// TestEnded checks that each way in which a guest goes wrong ends the call, and harms no later one.
func TestEnded(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, do, want string }{
		{"fails", "f", "it is a failure"},
		{"traps", "x", "unreachable"},
		{"spins", "s", "longer than 1s"},
		{"spins in short loops", "p", "longer than 1s"},
		{"recurses without a loop", "b", "longer than 1s"},
		{"recurses without end", "d", "stack overflow"},
		{"eats memory", "m", "unreachable"},
		{"reads outside its memory", "o", "not within its memory"},
		{"sends without end", "n", "at most 65536"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if strings.Contains(row.want, "longer") {
				timeout = time.Second // the message after it has to end in that time, also on a busy machine
			}
			p := start(t, wasm.Config{Name: "bad", Timeout: timeout, MinBackoff: time.Millisecond, Instances: 1})
			var out discard
			err := p.Handle(t.Context(), &ferry.Message{Type: ferry.JSON, Payload: []byte(`{"do":"` + row.do + `"}`)}, out)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("got %v, want %q", err, row.want)
			}
			if sent, err := do(t, p, "c"); err != nil || len(sent) != 1 {
				t.Errorf("the next message: got %d messages, %v, want 1", len(sent), err)
			}
			s := p.Stats()
			if crashes := map[bool]uint64{true: 0, false: 1}[row.do == "f"]; s.Failed != 1 || s.Handled != 1 || s.Crashed != crashes || s.Instances != 1 {
				t.Errorf("got %+v, want %d crashes, 1 failed and 1 handled", s, crashes)
			}
		})
	}
}

// discard is a Sender.
type discard struct{}

func (discard) Send(context.Context, ferry.Message) error { return nil }

// TestPreempted checks that the garbage collector runs while guests spin on all processors: their compiled code is not preemptible.
func TestPreempted(t *testing.T) {
	t.Parallel()
	n := 2 * runtime.GOMAXPROCS(0)
	p := start(t, wasm.Config{Timeout: time.Minute, Instances: n})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			err := p.Handle(ctx, &ferry.Message{Type: ferry.JSON, Payload: []byte(`{"do":"s"}`)}, discard{})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		})
	}
	for p.Stats().Busy < n {
		runtime.Gosched()
	}
	runtime.GC()
	cancel()
	group.Wait()
}

// TestSenderFails checks that a message fails if something it sent was not sent, whatever the guest returns.
func TestSenderFails(t *testing.T) {
	t.Parallel()
	p := start(t, wasm.Config{})
	refusal := errors.New("no credit")
	err := p.Handle(t.Context(), &ferry.Message{Type: ferry.JSON, Payload: []byte(`{"do":"w"}`)}, senderFunc(func() error { return refusal }))
	if !errors.Is(err, refusal) {
		t.Errorf("got %v, want %v", err, refusal)
	}
}

type senderFunc func() error

func (f senderFunc) Send(context.Context, ferry.Message) error { return f() }

// TestWaitsOutside checks that the time in a Sender does not count for the guest.
func TestWaitsOutside(t *testing.T) {
	t.Parallel()
	p := start(t, wasm.Config{Timeout: 500 * time.Millisecond})
	err := p.Handle(t.Context(), &ferry.Message{Type: ferry.JSON, Payload: []byte(`{"do":"w"}`)}, senderFunc(func() error {
		time.Sleep(time.Second) // two timeouts
		return nil
	}))
	if err != nil {
		t.Error(err)
	}
}

// TestOneInstanceEach checks that calls at the same time have instances of their own, up to the limit, and that others wait.
func TestOneInstanceEach(t *testing.T) {
	t.Parallel()
	p := start(t, wasm.Config{Instances: 2})
	inside, resume := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			err := p.Handle(t.Context(), &ferry.Message{Type: ferry.JSON, Payload: []byte(`{"do":"w"}`)}, senderFunc(func() error {
				inside <- struct{}{}
				<-resume
				return nil
			}))
			if err != nil {
				t.Error(err)
			}
		})
	}
	<-inside
	<-inside
	for p.Stats().Waiting < 3 {
		runtime.Gosched()
	}
	if s := p.Stats(); s.Busy != 2 || s.Instances != 2 {
		t.Errorf("got %+v, want 2 busy of 2", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Handle(ctx, &ferry.Message{}, discard{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that cannot wait: got %v, want %v", err, context.Canceled)
	}
	for range 3 {
		resume <- struct{}{}
		<-inside
	}
	close(resume)
	group.Wait()
}

func TestClose(t *testing.T) {
	t.Parallel()
	p := start(t, wasm.Config{Timeout: time.Minute, Instances: 1})
	ended := make(chan error)
	go func() { _, err := do(t, p, "s"); ended <- err }()
	for p.Stats().Busy == 0 {
		runtime.Gosched()
	}
	go func() { _, err := do(t, p, "c"); ended <- err }()
	for p.Stats().Waiting == 0 {
		runtime.Gosched()
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-ended; !errors.Is(err, wasm.ErrClosed) {
			t.Errorf("got %v, want %v", err, wasm.ErrClosed)
		}
	}
	if err := p.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	p := start(t, wasm.Config{Name: "talker", Log: slog.New(slog.NewTextHandler(&lines, nil))})
	if _, err := do(t, p, "l"); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(lines.String(), "\n"); n != 65 {
		t.Errorf("got %d lines for 1000, want 64 and a last one", n)
	}
	if want := `level=WARN msg="function printed" function=talker text="it is a failure"`; !strings.Contains(lines.String(), want) {
		t.Errorf("got %q, want %q", lines.String(), want)
	}
}

// header is the preamble of a module.
const header = "0061736d01000000"

// TestRefused checks modules that are no guests.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, module string // hex
		memory       int64
		want         string
	}{
		{"nothing", "", 0, "not a WebAssembly module"},
		{"text", hex.EncodeToString([]byte("(module)")), 0, "not a WebAssembly module"},
		{"no memory", header, 0, "no memory"},
		{"a section that ends early", header + "0510", 0, "ends early"},
		{"no handler", header + "0503010001", 0, "does not export the function ferry_handle"},
		{"a program", header + "01040160000003020100" + "0503010001" + "070a01065f737461727400000a040102000b", 0, "it is a program"},
		{"more memory than it may have", hex.EncodeToString(guest), 64 << 10, "needs 128 KiB of memory to start, and may have 64 KiB"},
		{"a memory of the host", header + "02080101610162020001", 0, "a.b is not a function"},
		{"a large table", header + "0407017000ffffff7f" + "0503010001", 0, "a table of 268435455 entries"},
		{"many tables", header + "045611" + strings.Repeat("7000808004", 17) + "0503010001", 0, "17 tables: at most 16"},
		{"a global that only the host has", header + "0105016000017f" + "03020100" + "0503010001" + "0a0601040023000b", 0, "no such global"},
		{"a local that only the host has", header + "0105016000017f" + "03020100" + "0503010001" + "0a0601040020000b", 0, "no such local"},
		{"an unknown instruction", header + "01040160000003020100" + "0503010001" + "0a05010300120b", 0, "unknown instruction 0x12"},
	} {
		module, err := hex.DecodeString(row.module)
		if err != nil {
			t.Fatal(row.name, err)
		}
		p, err := wasm.Start(t.Context(), module, wasm.Config{Memory: row.memory})
		if err == nil {
			_ = p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
	if _, err := wasm.Start(t.Context(), guest, wasm.Config{Timeout: time.Microsecond}); err == nil {
		t.Error("a Timeout of 1us is taken")
	}
}

// TestCut checks that a module cut at any byte is an error.
func TestCut(t *testing.T) {
	t.Parallel()
	for n := range len(guest) {
		if n > 64 && n%16 > 0 && n < len(guest)-16 {
			continue
		}
		if p, err := wasm.Start(t.Context(), guest[:n], wasm.Config{}); err == nil {
			_ = p.Close()
			t.Errorf("the first %d bytes of %d are taken", n, len(guest))
		}
	}
}

func ExampleStart() {
	ctx := context.Background()
	pool, err := wasm.Start(ctx, guest, wasm.Config{Name: "copy", Formats: []format.Format{json.Format{}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var out recorder
	in := ferry.Message{Tag: "in", Type: ferry.JSON, Payload: []byte(`{"do":"copy"}`)}
	fmt.Println(pool.Handle(ctx, &in, &out))
	fmt.Printf("%s %s\n", out.sent[0].Tag, out.sent[0].Payload)
	fmt.Println(pool.Close())
	// Output:
	// <nil>
	// out/text {"do":"copy"}
	// <nil>
}

// last returns the payload of the last message.
func last(sent []ferry.Message) string {
	if len(sent) == 0 {
		return ""
	}
	return string(sent[len(sent)-1].Payload)
}
