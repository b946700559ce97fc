package node_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"example.com/ferry"
	"example.com/ferry/format/all"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
	"example.com/ferry/transport/unix"
)

// Run a node from a configuration, as ferry run does, and ask its admin server whether it is ready.
func Example() {
	dir, err := os.MkdirTemp("", "node")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	extensions := node.Extensions{Formats: all.Formats(), Log: slog.New(slog.DiscardHandler)}
	cfg, err := config.Parse("node.yaml", []byte(`
listeners:
  - address: quic://127.0.0.1:0
admin:
  address: 127.0.0.1:0
data_dir: `+dir+`
`), extensions.Program())
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := node.Build(cfg, extensions) // binds the addresses
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	<-n.Ready()

	response, err := http.Get(n.Admin() + "ready")
	if err != nil {
		fmt.Println(err)
		return
	}
	response.Body.Close()
	fmt.Println("ready:", response.Status)

	cancel() // the node drains, then Run returns
	fmt.Println("run:", <-ended)
	// Output:
	// ready: 200 OK
	// run: <nil>
}

// shout publishes each message in upper case on the tag loud.
func shout(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	return out.Send(ctx, ferry.Message{Tag: "loud", Type: in.Type, Payload: bytes.ToUpper(in.Payload)})
}

// A program adds a function of its own. The configuration names it under functions.
func ExampleExtensions() {
	dir, err := os.MkdirTemp("", "node")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	formats := all.Formats() // append formats of your own here
	extensions := node.Extensions{
		Formats: formats,
		Functions: append(node.Functions(formats), node.Function{
			Name: "shout",
			New:  func() ferry.Handler { return ferry.HandlerFunc(shout) },
		}),
		Log: slog.New(slog.DiscardHandler),
	}
	cfg, err := config.Parse("node.yaml", []byte(strings.ReplaceAll(`
listeners:
  - address: unix://DIR/socket
admin:
  address: ""
data_dir: DIR
functions:
  - name: echo
    run: shout
    observe: [quiet/#]
`, "DIR", dir)), extensions.Program())
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := node.Build(cfg, extensions)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	<-n.Ready()

	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := stream.Dial(ctx, unix.New(nil), filepath.Join(dir, "socket"), &stream.Config{Token: bytes.TrimSpace(token)})
	if err != nil {
		fmt.Println(err)
		return
	}
	results := make(chan string, 1)
	_, err = client.Start(ctx, stream.Function{
		Observe: []string{"loud"},
		Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
			results <- fmt.Sprintf("%s: %s", in.Tag, in.Payload)
			return nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := client.Send(ctx, ferry.Message{Tag: "quiet/room", Type: ferry.Raw, Payload: []byte("hello")}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-results)

	_ = client.Close()
	cancel()
	fmt.Println("run:", <-ended)
	// Output:
	// loud: HELLO
	// run: <nil>
}
