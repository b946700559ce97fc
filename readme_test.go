package ferry_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format/cbor"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// A field of an encoded message is read and set without decoding the message.
func Example() {
	event, err := os.ReadFile("examples/messages/event.cbor")
	if err != nil {
		fmt.Println(err)
		return
	}
	path := field.MustParse("readings.0.value")

	span, err := cbor.Format{}.Lookup(event, path)
	fmt.Printf("%s %v\n", event[span.Off:span.End], err)

	changed, err := cbor.Format{}.Patch(nil, event, path, field.Value{Kind: field.Text, Bytes: []byte("31")})
	span, _ = cbor.Format{}.Lookup(changed, path)
	fmt.Printf("%s %v\n", changed[span.Off:span.End], err)
	// Output:
	// 30.5 <nil>
	// 31 <nil>
}

// A function observes tags of a node on this machine, and publishes results.
func ExampleHandler() {
	run := func(ctx context.Context) error {
		token, err := os.ReadFile("ferry-data/token")
		if err != nil {
			return err
		}
		client, err := stream.Dial(ctx, tcp.New(nil), "127.0.0.1:4190", &stream.Config{Token: bytes.TrimSpace(token)})
		if err != nil {
			return err
		}
		defer client.Close()
		return client.Run(ctx, stream.Function{
			Observe: []string{"sensors/+/cpu"},
			Where:   `readings.0.value > 80`,
			Handler: ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
				return out.Send(ctx, ferry.Message{Tag: "alerts/cpu", Type: in.Type, Payload: in.Payload})
			}),
		})
	}
	fmt.Println(run(context.Background()))
}

// TestReadme checks that the Go code in README.md is that of the examples above.
func TestReadme(t *testing.T) {
	dedent := func(text string) string { return regexp.MustCompile(`(?m)^\t+`).ReplaceAllString(text, "") }
	code := dedent(read(t, "readme_test.go"))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("README.md has no Go code")
	}
	for _, block := range blocks {
		if !strings.Contains(code, dedent(block[1])) {
			t.Errorf("README.md has code that is not in readme_test.go:\n%s", block[1])
		}
	}
}
