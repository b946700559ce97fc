package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"sync/atomic"
	"syscall"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/internal/topic"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
)

type pubCmd struct {
	nodeFlags
	Type string      `short:"t" placeholder:"TYPE" enum:",raw,${types}" default:"" help:"The type of the messages: ${typeList}, or raw for any bytes; by default ferry guesses."`
	Ack  bool        `help:"Wait until the node has routed all messages, and has stored those of stored streams. Fail if it drops one."`
	Max  config.Size `default:"64MiB" placeholder:"SIZE" help:"Refuse larger messages. The default is 64MiB; the node has its own limit."`
	Tag  string      `arg:"" help:"The tag to publish on: levels separated by slashes, as in sensors/pump-1."`
}

// Help returns the part of ferry pub --help that is not in the grammar.
func (*pubCmd) Help() string {
	return `JSON input has one message per line; each line is published when it arrives. Input of any other type is one message. Messages are validated before they are published.

Examples:

    echo '{"deviceName":"pump-1","readings":[{"value":"31"}]}' | ferry pub sensors/pump-1
    ferry pub -t cbor --ack sensors/pump-1 <event.cbor`
}

// Run publishes standard input.
func (c *pubCmd) Run(e *env) error {
	if err := topic.CheckTag(c.Tag); err != nil {
		return usageError{err}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	client, err := c.dial(ctx, e, "ferry pub")
	if err != nil {
		return err
	}
	err = c.publish(ctx, e, client)
	return errors.Join(err, client.Close()) // which names messages that may not be stored
}

// publish publishes standard input.
func (c *pubCmd) publish(ctx context.Context, e *env, client *stream.Client) error {
	source, err := client.Source(ctx, c.Tag)
	if err != nil {
		return err
	}
	watched, done := context.WithCancel(ctx)
	defer done()
	go noteWaiting(watched, e, client)
	var published atomic.Int64
	finished := make(chan error, 1)
	go func() { // a read of standard input cannot be canceled
		finished <- c.read(e, func(t ferry.Type, payload []byte) error {
			published.Add(1)
			err := source.Send(ctx, ferry.Message{Type: t, Payload: payload})
			if err != nil {
				published.Add(-1)
			}
			return err
		})
	}()
	select {
	case err = <-finished:
	case <-ctx.Done():
		err = interrupted(finished)
	}
	if err == nil && c.Ack {
		err = client.Flush(ctx)
	}
	if n := published.Load(); err != nil && n > 0 {
		return fmt.Errorf("%w\nmessages published before: %d", err, n)
	}
	return err
}

// read splits standard input into messages. Without --type, a first line of JSON means that every line is a JSON message.
func (c *pubCmd) read(e *env, send func(ferry.Type, []byte) error) error {
	r := bufio.NewReaderSize(e.stdin, 64<<10)
	if c.Type != "" && c.Type != "json" {
		return c.whole(e, r, send)
	}
	for number, found := 1, false; ; number++ {
		line, err := readLine(r, int64(c.Max))
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d of standard input: %w", number, err)
		}
		if message := bytes.TrimSpace(line); len(message) > 0 {
			if bad := (json.Format{}).Validate(message, format.Options{}); bad != nil {
				if c.Type == "" && !found {
					return c.whole(e, io.MultiReader(bytes.NewReader(line), r), send)
				}
				return fmt.Errorf("line %d of standard input, which has one message a line: %w", number, invalid(bad, message))
			}
			found = true
			if err := send(ferry.JSON, message); err != nil {
				return err
			}
		}
		if err != nil {
			if !found {
				return errors.New("standard input is empty: nothing to publish")
			}
			return nil
		}
	}
}

// whole sends all of r as one message.
func (c *pubCmd) whole(e *env, r io.Reader, send func(ferry.Type, []byte) error) error {
	rest := *e
	rest.stdin = r
	in := input{Max: c.Max}
	if c.Type == "raw" {
		data, err := in.read(&rest)
		if err != nil {
			return err
		}
		return send(ferry.Raw, data)
	}
	m, err := in.message(&rest, c.Type)
	if err != nil {
		return err
	}
	return send(m.format.Descriptor().Type, m.data)
}

// readLine returns the next line with its newline. The last line comes with io.EOF.
func readLine(r *bufio.Reader, limit int64) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if int64(len(line)) > limit {
			return nil, fmt.Errorf("more than %d bytes: allow more with --max", limit)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
