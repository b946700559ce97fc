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

	Spool    string      `placeholder:"DIR" help:"Keep each message in this directory until the node has it: also while the node is away, and after a crash of this command."`
	SpoolMax config.Size `default:"1GiB" placeholder:"SIZE" help:"With --spool: read no more of standard input while so much is kept. The default is 1GiB."`

	Tag string `arg:"" help:"The tag to publish on: levels separated by slashes, as in sensors/pump-1."`
}

// Help returns the part of ferry pub --help that is not in the grammar.
func (*pubCmd) Help() string {
	return `JSON input has one message per line; each line is published when it arrives. Input of any other type is one message. Messages are validated before they are published.

Examples:

    echo '{"deviceName":"pump-1","readings":[{"value":"31"}]}' | ferry pub sensors/pump-1
    ferry pub -t cbor --ack sensors/pump-1 <event.cbor
    tail -f orders.json | ferry pub -t json --spool ./unsent orders/new

With --spool the command ends when standard input has ended and the node has all messages. Ctrl-C leaves the rest in the directory: the next ferry pub with it publishes them first. A message may be published twice after a crash; a durable stream stores it once.`
}

// Run publishes standard input.
func (c *pubCmd) Run(e *env) error {
	if err := topic.CheckTag(c.Tag); err != nil {
		return usageError{err}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	client, queue, err := c.connect(ctx, e)
	if err != nil {
		return err
	}
	err = c.publish(ctx, e, client, queue)
	err = errors.Join(err, client.Close()) // which names messages that may not be stored
	queue.close()
	return err
}

// publish publishes standard input.
func (c *pubCmd) publish(ctx context.Context, e *env, client *stream.Client, queue *pubSpool) error {
	source, err := client.Source(ctx, c.Tag)
	if err != nil {
		return err
	}
	watched, done := context.WithCancel(ctx)
	defer done()
	go noteWaiting(watched, e, client)
	defer queue.watch(e, client)()
	var published atomic.Int64
	finished := make(chan error, 1)
	go func() { // a read of standard input cannot be canceled
		finished <- c.read(e, queue.messages() > 0, func(t ferry.Type, payload []byte) error {
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
	if err == nil && (c.Ack || queue != nil) {
		if err = client.Flush(ctx); err != nil && ctx.Err() != nil {
			err = errors.New("interrupted")
		}
	}
	if err != nil && queue != nil {
		return queue.explain(err)
	}
	if n := published.Load(); err != nil && n > 0 {
		return fmt.Errorf("%w\nmessages published before: %d", err, n)
	}
	return err
}

// read splits standard input into messages. Without --type, a first line of JSON means that every line is a JSON message. Without any
// message it fails, unless mayBeEmpty is set.
func (c *pubCmd) read(e *env, mayBeEmpty bool, send func(ferry.Type, []byte) error) error {
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
			if !found && !mayBeEmpty {
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
