package envelope_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

var update = flag.Bool("update", false, "rewrite the results in testdata/vectors.txt")

// envelopes are all of the package.
var envelopes = []envelope.Envelope{
	envelope.JSONRPC{}, envelope.JSONRPC2{}, envelope.GRPC{}, envelope.ProtoRPC{}, envelope.MsgpackRPC{}, envelope.BSONRPC{},
}

// vector is one block of testdata/vectors.txt.
type vector struct {
	title, input, want string
	envelope           envelope.Envelope
	isRequest          bool
	data               []byte
}

func vectors(t testing.TB) (head string, all []vector) {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split("\n"+strings.TrimSpace(string(raw)), "\n# ")
	for _, block := range blocks[1:] {
		lines := strings.SplitN(strings.TrimSpace(block)+"\n", "\n", 4)
		words := strings.SplitN(lines[0], " ", 3)
		if len(lines) != 4 || len(words) != 3 || lines[2] != "--" {
			t.Fatalf("not a vector: %q", block)
		}
		v := vector{title: lines[0], input: lines[1], want: strings.TrimSpace(lines[3]), isRequest: words[1] == "request:"}
		for _, e := range envelopes {
			if e.Name() == words[0] {
				v.envelope = e
			}
		}
		if v.envelope == nil {
			t.Fatalf("no envelope %q", words[0])
		}
		v.data = []byte(v.input)
		if !strings.HasPrefix(words[0], "json") {
			if v.data, err = hex.DecodeString(strings.ReplaceAll(v.input, " ", "")); err != nil {
				t.Fatalf("%s: %v", v.title, err)
			}
		}
		all = append(all, v)
	}
	return strings.TrimSpace(blocks[0]), all
}

// result describes what parsing v returns in one line.
func (v vector) result() string {
	if v.isRequest {
		r, err := v.envelope.ParseRequest(v.data)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("method=%q id=%d token=%s notification=%v body=%s", r.Method, r.ID, v.print(r.Token), r.Notification, v.print(r.Body))
	}
	r, err := v.envelope.ParseResponse(v.data)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("method=%q id=%d token=%s body=%s status=%s", r.Method, r.ID, v.print(r.Token), v.print(r.Body), printStatus(r.Status))
}

func (v vector) print(body []byte) string {
	if strings.HasPrefix(v.envelope.Name(), "json") {
		return string(body)
	}
	return hex.EncodeToString(body)
}

func printStatus(s *call.Status) string {
	if s == nil {
		return "OK"
	}
	text := s.Error()
	for _, d := range s.Details {
		text += fmt.Sprintf(" [%s %q]", d.Type, d.Value)
	}
	return text
}

// TestVectors parses messages that were written by others or by hand.
func TestVectors(t *testing.T) {
	head, all := vectors(t)
	var out strings.Builder
	out.WriteString(strings.TrimPrefix(head, "\n") + "\n")
	for _, v := range all {
		got := v.result()
		fmt.Fprintf(&out, "# %s\n%s\n--\n%s\n", v.title, v.input, got)
		if got != v.want && !*update {
			t.Errorf("%s\n got %s\nwant %s", v.title, got, v.want)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/vectors.txt", []byte(strings.TrimPrefix(out.String(), "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
