package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/cmd/ferry/cli"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/all"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
	"example.com/ferry/transport"
	"example.com/ferry/transport/unix"
)

// lines is a format that ferry does not have: a line "key=value" for each field, all of them text.
type lines struct{}

func (lines) Name() string                  { return "lines" }
func (lines) Descriptor() format.Descriptor { return format.Descriptor{Type: 200} }

func (f lines) Lookup(data []byte, p field.Path) (field.Span, error) {
	if p.Len() == 0 {
		return field.Span{End: len(data), Kind: field.Map}, nil
	}
	found := field.Span{Head: -1}
	err := f.Walk(data, func(step field.Step, depth int, s field.Span) error {
		if depth == 1 && p.Len() == 1 && step.Name == p.Steps()[0].Name && found.Head < 0 {
			found = s
		}
		return nil
	})
	if err == nil && found.Head < 0 {
		err = field.ErrNotFound
	}
	return found, err
}

func (f lines) Find(data []byte, s *field.Set, spans []field.Span) error {
	for i, p := range s.Paths() {
		var err error
		if spans[i], err = f.Lookup(data, p); err != nil && !errors.Is(err, field.ErrNotFound) {
			return err
		} else if err != nil {
			spans[i] = field.Span{}
		}
	}
	return nil
}

func (lines) Value(data []byte, s field.Span, _ field.Type) (field.Value, error) {
	return field.Value{Kind: s.Kind, Bytes: data[s.Off:s.End]}, nil
}

func (f lines) Validate(data []byte, _ format.Options) error {
	return f.Walk(data, func(field.Step, int, field.Span) error { return nil })
}

func (lines) Walk(data []byte, visit format.Visit) error {
	if err := visit(field.Step{Index: -1, Key: -1}, 0, field.Span{End: len(data), Kind: field.Map}); err != nil {
		return err
	}
	for pos := 0; pos < len(data); {
		end := bytes.IndexByte(data[pos:], '\n')
		equals := bytes.IndexByte(data[pos:], '=')
		if end < 0 || equals < 0 || equals > end {
			return &format.SyntaxError{Format: "lines", Offset: pos, Reason: "no key=value and newline"}
		}
		span := field.Span{Head: pos, Off: pos + equals + 1, End: pos + end, Kind: field.Text}
		if err := visit(field.Step{Name: string(data[pos : pos+equals]), Index: -1, Key: -1}, 1, span); err != nil {
			return err
		}
		pos += end + 1
	}
	return nil
}

func (f lines) Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error) {
	s, err := f.Lookup(data, p)
	if err != nil {
		return dst, err
	}
	return append(append(append(dst, data[:s.Off]...), v.Bytes...), data[s.End:]...), nil
}

func (lines) PatchInPlace([]byte, field.Path, field.Value) (bool, error) { return false, nil }

func (lines) NewBuilder() format.Builder { return &linesBuilder{} }

type linesBuilder struct{ out []byte }

func (*linesBuilder) Begin(field.Step, field.Kind) error { return nil }
func (*linesBuilder) End() error                         { return nil }
func (b *linesBuilder) Message() ([]byte, error)         { return b.out, nil }
func (b *linesBuilder) Scalar(step field.Step, v field.Value) error {
	if v.Kind != field.Text {
		return errors.New("lines: only text has a form")
	}
	b.out = append(append(append(append(b.out, step.Name...), '='), v.Bytes...), '\n')
	return nil
}

// pipe is a transport that ferry does not have.
type pipe struct{ transport.Transport }

func (pipe) Scheme() string { return "pipe" }

// extended is what a program with one more format and one more transport passes to cli.Main.
func extended() node.Extensions {
	formats := append(all.Formats(), lines{})
	return node.Extensions{
		Formats: formats,
		Transports: append(node.Transports(), node.Transport{
			Descriptor: transport.Descriptor{Scheme: "pipe", Local: true},
			New:        func(node.Security) transport.Transport { return pipe{unix.New(nil)} },
		}),
		Functions: node.Functions(formats),
		Log:       slog.New(slog.DiscardHandler),
	}
}

func ferry(t *testing.T, want int, stdin string, args ...string) (stdout string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := cli.Run(extended(), args, strings.NewReader(stdin), &out, &errs); got != want {
		t.Errorf("ferry %q: status %d, %q, want %d", args, got, errs.String(), want)
	}
	return out.String()
}

const pump = "device=pump-1\nvalue=31\n"

func TestMessagesOfAPrivateFormat(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{pump, []string{"get", "-t", "lines", "value"}, "31\n"},
		{pump, []string{"set", "-t", "lines", "value=32"}, "device=pump-1\nvalue=32\n"},
		{pump, []string{"convert", "--from", "lines", "--to", "json"}, `{"device":"pump-1","value":"31"}` + "\n"},
		{`{"device":"pump-1","value":"31"}`, []string{"convert", "--to", "lines"}, pump},
	} {
		if got := ferry(t, 0, row.stdin, append([]string{"-q"}, row.args...)...); got != row.want {
			t.Errorf("ferry %q: got %q, want %q", row.args, got, row.want)
		}
	}
	ferry(t, 3, pump, "get", "-t", "lines", "nothing")
	ferry(t, 1, "no line", "get", "-t", "lines", "value")
	ferry(t, 1, `{"a":1}`, "convert", "--to", "lines")
}

func TestNodeWithAPrivateFormatAndTransport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket, file, data := "pipe://"+filepath.Join(dir, "s"), filepath.Join(dir, "node.yaml"), filepath.Join(dir, "data")
	text := "listeners: [{address: '" + socket + "'}]\nadmin: {address: '127.0.0.1:0'}\ndata_dir: '" + data + "'\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ferry(t, 0, "", "check", "-c", file)

	extensions := extended()
	cfg, err := config.Load(file, extensions.Program())
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.Build(cfg, extensions)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-n.Ready()

	dashboard, err := http.Get(n.Admin() + "api/stream?tag=" + url.QueryEscape("pumps/#"))
	if err != nil {
		t.Fatal(err)
	}
	defer dashboard.Body.Close()
	shown := make(chan string, 1)
	go func() {
		for events := bufio.NewScanner(dashboard.Body); events.Scan(); {
			if _, payload, ok := strings.Cut(events.Text(), `"type":"lines"`); ok {
				shown <- payload
				break
			}
		}
		_, _ = io.Copy(io.Discard, dashboard.Body)
	}()

	client := []string{"-q", "-a", socket, "--data-dir", data}
	printed := make(chan string, 1)
	go func() {
		printed <- ferry(t, 0, "", append([]string{"sub", "--count", "1", "--where", "value > 30", "pumps/#"}, client...)...)
	}()
	var line, event string
	for line == "" || event == "" { // until both have subscribed
		ferry(t, 0, "device=pump-1\nvalue=29\n", append([]string{"pub", "-t", "lines", "--ack", "pumps/1"}, client...)...)
		ferry(t, 0, pump, append([]string{"pub", "-t", "lines", "--ack", "pumps/1"}, client...)...)
		select {
		case line = <-printed:
		case event = <-shown:
		default:
		}
	}
	if want := `"type":"lines","payload":{"device":"pump-1","value":"31"}}` + "\n"; !strings.HasSuffix(line, want) {
		t.Errorf("ferry sub printed %s, want ...%s", line, want)
	}
	if want := `,"payload":{"device":"pump-1","value":"`; !strings.Contains(event, want) {
		t.Errorf("the dashboard got %s, want ...%s", event, want)
	}
	ferry(t, 1, "no line", append([]string{"pub", "-t", "lines", "pumps/1"}, client...)...)
}
