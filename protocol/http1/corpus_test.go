package http1

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the forwarded bytes in testdata")

// sample is one case of the corpus.
type sample struct {
	name    string
	raw     []byte
	verdict string // the status of the response, or forward
	want    []byte // bytes that the proxy forwards
}

func (s sample) requestMethod() Method {
	if strings.HasPrefix(s.name, "HEAD:") {
		return MethodHead
	}
	return MethodGet
}

var corpora = []struct {
	file      string
	responses bool
}{{"requests.txt", false}, {"chunked.txt", false}, {"responses.txt", true}}

// corpus reads the cases in file.
func corpus(tb testing.TB, file string) (comment string, samples []sample) {
	tb.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		tb.Fatal(err)
	}
	comment, rest, _ := strings.Cut(string(text), "\n== ")
	for block := range strings.SplitSeq(rest, "\n== ") {
		name, block, _ := strings.Cut(block, "\n")
		raw, block, ok := strings.Cut(block, "\n-- ")
		verdict, want, _ := strings.Cut(block, "\n")
		if !ok {
			tb.Fatalf("%s: case %q has no verdict", file, name)
		}
		samples = append(samples, sample{name, unescape(tb, raw), strings.TrimSpace(verdict), unescape(tb, want)})
	}
	return comment, samples
}

func unescape(tb testing.TB, text string) []byte {
	tb.Helper()
	joined := strings.ReplaceAll(strings.ReplaceAll(text, "\n", ""), `"`, `\"`)
	s, err := strconv.Unquote(`"` + joined + `"`)
	if err != nil {
		tb.Fatalf("%q: %v", text, err)
	}
	return []byte(s)
}

func escape(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		switch {
		case c == '\r':
			s.WriteString(`\r`)
		case c == '\n':
			s.WriteString("\\n\n")
		case c == '\t':
			s.WriteString(`\t`)
		case c == '\\':
			s.WriteString(`\\`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&s, `\x%02x`, c)
		default:
			s.WriteByte(c)
		}
	}
	return strings.TrimSuffix(s.String(), "\n")
}

// outcome is the result of forwarding one message.
type outcome struct {
	err     error
	whole   bool   // the message is complete
	used    int    // bytes of the input that belong to the message
	sent    []byte // bytes that the proxy forwards
	content []byte
	head    *Head
}

func (o outcome) String() string {
	return fmt.Sprintf("whole %v, %d bytes, error %v, sent %q, content %q", o.whole, o.used, o.err, o.sent, o.content)
}

// forward forwards a message like a proxy. The message arrives in pieces that end at cuts. Then the connection ends.
func forward(raw []byte, response bool, requestMethod Method, l *Limits, cuts ...int) (o outcome) {
	o.head = &Head{}
	n := 0
	var body Body
	for _, end := range append(cuts, len(raw)) {
		data := raw[:end:end]
		if n == 0 {
			if response {
				n, o.err = ParseResponse(data, o.head, requestMethod, l)
			} else {
				n, o.err = ParseRequest(data, o.head, l)
			}
			if o.err != nil {
				return o
			}
			if n == 0 {
				continue
			}
			o.used = n
			if response {
				o.sent = AppendResponse(nil, data, o.head, nil)
			} else {
				o.sent = AppendRequest(nil, data, o.head, nil)
			}
			body = o.head.Body(l)
		}
		for {
			var m int
			var part Part
			m, part, o.err = body.Next(data[o.used:])
			o.content = append(o.content, part.Content.Of(data[o.used:])...)
			kept := append(bytes.Clone(data[o.used:o.used+int(part.Dropped.Start)]), data[o.used+int(part.Dropped.End):o.used+m]...)
			o.sent = append(o.sent, kept...)
			o.used += m
			if o.err != nil {
				return o
			}
			if m == 0 {
				break
			}
		}
	}
	o.whole = n > 0 && body.End() == nil
	return o
}

func TestCorpus(t *testing.T) {
	total := 0
	for _, c := range corpora {
		comment, samples := corpus(t, c.file)
		total += len(samples)
		out := comment + "\n"
		for _, s := range samples {
			got := forward(s.raw, c.responses, s.requestMethod(), nil)
			out += "\n== " + s.name + "\n" + escape(s.raw) + "\n-- " + s.verdict + "\n"
			if s.verdict == "forward" && got.whole {
				out += escape(got.sent) + "\n"
			}
			t.Run(c.file+"/"+s.name, func(t *testing.T) {
				if s.verdict == "forward" {
					if !got.whole || got.err != nil || got.used != len(s.raw) || !*update && !bytes.Equal(got.sent, s.want) {
						t.Fatalf("got %v\nwant all %d bytes sent on as %q", got, len(s.raw), s.want)
					}
					return
				}
				var e *Error
				if !errors.As(got.err, &e) || strconv.Itoa(e.Status) != s.verdict {
					t.Fatalf("got %v\nwant an *Error with status %s", got, s.verdict)
				}
				if e.Offset < 0 || e.Offset > int64(len(s.raw)) || e.Reason == "" {
					t.Errorf("error %+v: want an offset within %d bytes and a reason", e, len(s.raw))
				}
			})
		}
		if *update {
			if err := os.WriteFile("testdata/"+c.file, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if total < 300 {
		t.Errorf("the corpus has %d cases: some files were not read", total)
	}
}

// TestSplit splits each case at every single byte, and at all bytes. The result must be that of the case in one piece.
func TestSplit(t *testing.T) {
	for _, c := range corpora {
		_, samples := corpus(t, c.file)
		for _, s := range samples {
			checkSplits(t, s.raw, c.responses, s.requestMethod())
		}
	}
}

func checkSplits(t *testing.T, raw []byte, response bool, requestMethod Method) {
	t.Helper()
	want := forward(raw, response, requestMethod, nil).String()
	every := make([]int, len(raw))
	for i := range raw {
		every[i] = i
		if got := forward(raw, response, requestMethod, nil, i).String(); got != want {
			t.Fatalf("%q cut at %d:\ngot  %s\nwant %s", raw, i, got, want)
		}
	}
	if got := forward(raw, response, requestMethod, nil, every...).String(); got != want {
		t.Fatalf("%q byte by byte:\ngot  %s\nwant %s", raw, got, want)
	}
}

// TestTruncated ends the connection within each message. The message must be incomplete, unless its end is the connection's
// end.
func TestTruncated(t *testing.T) {
	for _, c := range corpora {
		_, samples := corpus(t, c.file)
		for _, s := range samples {
			if s.verdict != "forward" {
				continue
			}
			for i := range s.raw {
				got := forward(s.raw[:i], c.responses, s.requestMethod(), nil)
				if got.err != nil || got.whole && got.head.Framing != UntilClose {
					t.Errorf("%s: cut off after %d bytes: got %v, want it unfinished", s.name, i, got)
				}
			}
		}
	}
}
