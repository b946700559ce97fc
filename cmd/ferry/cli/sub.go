package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
	jsonformat "example.com/ferry/format/json"
	"example.com/ferry/format/schema"
	"example.com/ferry/internal/topic"
	"example.com/ferry/internal/transcode"
	"example.com/ferry/stream"
)

type subCmd struct {
	nodeFlags
	Where   string `placeholder:"PRED" help:"Only messages that match this predicate, such as 'readings.0.value > 30'. The node evaluates it."`
	From    string `placeholder:"START" help:"Read a stored stream: from the first record, a sequence number, a time such as 2026-11-22T10:00:00Z, or how long ago, such as 10m. Then print what comes."`
	Durable string `placeholder:"NAME" help:"Continue where the last command with this name ended, and share the messages with all clients of the name. Each message is done once it is printed. --from counts for a new name."`
	Policy  string `enum:"block,drop-oldest,drop-newest" default:"block" placeholder:"POLICY" help:"If ferry sub is slower than the publishers: block (they wait), drop-oldest or drop-newest. Stored messages always wait."`
	schemaFlags
	Count  uint64   `short:"n" placeholder:"N" help:"Exit after N messages."`
	Output string   `short:"o" enum:"json,raw" default:"json" placeholder:"FORMAT" help:"json (one line of JSON per message) or raw (the payload; a JSON payload is followed by a newline)."`
	Tags   []string `arg:"" name:"tag" sep:"none" help:"The tag filters: + matches one level, # all remaining levels, as in sensors/+/cpu or sensors/#. Each is a subscription of its own. With --from or --durable, one."`
}

// Help returns the part of ferry sub --help that is not in the grammar.
func (*subCmd) Help() string {
	return `A line of JSON has the tag, the time at the source, the source, the type and the payload. A message from a stored stream has its sequence number there too. A message that matches two filters is printed twice. A payload that has no JSON form is printed as hex, with "encoding":"hex". With a schema, --where and the JSON of y3 and protobuf have names; ferry sends them to the node as the numbers in the messages. Ctrl-C ends ferry sub.

Examples:

    ferry sub 'sensors/#'
    ferry sub --where 'readings.0.value > 30' sensors/+/cpu
    ferry sub 'alarms/#' 'sensors/+/cpu'
    ferry sub --schema noise.json --where 'noise.level > 30' noise
    ferry sub --count 1 -o raw 'sensors/#' | ferry get readings.0.value
    ferry sub --from first 'orders/#'
    ferry sub --durable billing --from 1h 'orders/#'`
}

// Run prints messages until there are enough, or Ctrl-C.
func (c *subCmd) Run(e *env) error {
	from, err := c.check(time.Now())
	if err != nil {
		return usageError{err}
	}
	shape, err := c.load()
	if err != nil {
		return err
	}
	where, err := c.predicate(shape)
	if err != nil {
		return usageError{err}
	}
	var asProtoJSON *protoJSON
	if shape != nil {
		if asProtoJSON, err = c.protoJSON(shape); err != nil && c.Message != "" { // a hint file for Y3 may have no form in protobuf
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	client, err := c.dial(ctx, e, stream.Config{Name: "ferry sub"})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer client.Close()
	ctx, done := context.WithCancel(ctx)
	defer done()
	p := &printer{env: e, formats: withSchema(e.formats, shape), shape: shape, proto: asProtoJSON, raw: c.Output == "raw", left: c.Count, endless: c.Count == 0, durable: c.Durable != "", done: done}
	policy, err := stream.ParsePolicy(c.Policy)
	if err != nil {
		return usageError{err}
	}
	err = client.Run(ctx, stream.Function{Observe: c.Tags, Where: where, Policy: policy, Concurrency: 1, Handler: p, From: from, Durable: c.Durable})
	if ctx.Err() != nil {
		return p.err
	}
	return errors.Join(err, p.err)
}

// check checks the flags. It returns what --from says.
func (c *subCmd) check(now time.Time) (from stream.From, err error) {
	if c.From != "" {
		if from, err = parseFrom(c.From, now); err != nil {
			return from, err
		}
	}
	switch stored := c.From != "" || c.Durable != ""; {
	case stored && c.Policy != "block":
		return from, fmt.Errorf("--policy %s is for messages as they arrive: those of a stored stream wait; leave it out", c.Policy)
	case stored && len(c.Tags) > 1:
		return from, fmt.Errorf("%d tag filters: --from and --durable read one; start a ferry sub for each", len(c.Tags))
	}
	for _, filter := range c.Tags {
		if err := topic.CheckFilter(filter); err != nil {
			return from, err
		}
	}
	return from, nil
}

// predicate returns --where for the node, with numbers in place of the names of the schema.
func (c *subCmd) predicate(shape *schema.Message) (string, error) {
	if c.Where == "" {
		return "", nil
	}
	p, err := field.ParsePredicate(c.Where)
	if err == nil && shape != nil {
		p, err = shape.Predicate(p, c.spelling())
	}
	if err != nil {
		return "", err
	}
	return p.String(), nil
}

// printer writes messages. It writes a batch at once.
type printer struct {
	env     *env
	formats []format.Format // with the schema, if there is one
	shape   *schema.Message // nil if there is none
	proto   *protoJSON      // nil if there is no schema for protobuf
	raw     bool
	left    uint64 // messages to print, unless endless
	endless bool
	durable bool               // what is not printed is not done
	done    context.CancelFunc // ends the subscription
	err     error
	text    bytes.Buffer
}

var _ ferry.BatchHandler = (*printer)(nil)

// Handle prints one message.
func (p *printer) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	return p.HandleBatch(ctx, []ferry.Message{*in}, out)
}

// HandleBatch prints messages until --count is reached.
func (p *printer) HandleBatch(_ context.Context, in []ferry.Message, _ ferry.Sender) error {
	if p.err != nil || !p.endless && p.left == 0 {
		return p.leave(0, len(in))
	}
	p.text.Reset()
	printed := 0
	for i := range in {
		if p.raw {
			p.text.Write(in[i].Payload)
			if in[i].Type == ferry.JSON {
				p.text.WriteByte('\n')
			}
		} else if p.err = p.writeLine(&p.text, &in[i]); p.err != nil {
			p.done()
			return p.err
		}
		printed++
		if p.left--; p.left == 0 && !p.endless {
			break
		}
	}
	if p.err = p.env.print(p.text.Bytes()); p.err != nil {
		printed = 0
	}
	if p.err != nil || p.left == 0 && !p.endless {
		p.done()
	}
	return p.leave(printed, len(in))
}

// leave returns the error that leaves the messages of a batch from one on to other members of the durable.
func (p *printer) leave(from, count int) error {
	if !p.durable || from == count {
		return nil
	}
	left := ferry.BatchError{}
	for i := from; i < count; i++ {
		left[i] = ferry.ErrNotTried
	}
	return left
}

// writeLine writes m as one line of JSON.
func (p *printer) writeLine(w io.Writer, m *ferry.Message) error {
	line := struct {
		Tag        string          `json:"tag"`
		Time       string          `json:"time"`
		Source     ferry.SourceID  `json:"source"`
		Sequence   uint64          `json:"sequence,omitempty"`
		Deliveries uint32          `json:"deliveries,omitempty"`
		Type       string          `json:"type"`
		Payload    json.RawMessage `json:"payload"`
		Encoding   string          `json:"encoding,omitempty"`
	}{
		Sequence: m.Sequence, Deliveries: m.Deliveries,
		Tag: m.Tag, Time: time.Unix(0, m.Time).UTC().Format(time.RFC3339Nano), Source: m.Source, Type: p.typeName(m.Type),
	}
	var ok bool
	if line.Payload, ok = p.payload(m); !ok {
		line.Payload = append(hex.AppendEncode([]byte{'"'}, m.Payload), '"')
		line.Encoding = "hex"
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(line)
}

// typeName returns the name of the format with that number, or type(200) if this program has none.
func (p *printer) typeName(t ferry.Type) string {
	if f := byType(p.formats, t); f != nil {
		return f.Name()
	}
	return t.String()
}

// payload returns the payload as JSON without white space, if it is a valid message that has such a form.
func (p *printer) payload(m *ferry.Message) ([]byte, bool) {
	f := byType(p.formats, m.Type)
	if f == nil || f.Validate(m.Payload, format.Options{}) != nil {
		return nil, false
	}
	if m.Type == ferry.JSON {
		whole, err := f.Lookup(m.Payload, field.Path{})
		if err != nil {
			return nil, false
		}
		text, err := transcode.JSON(nil, m.Payload, f, whole)
		return text, err == nil
	}
	if p.proto != nil && m.Type == ferry.Protobuf {
		if text, complete, err := p.proto.toJSON(m.Payload); err == nil && complete {
			return text, true
		}
	}
	if text, _, err := transcode.MessageAs(nil, m.Payload, f, jsonformat.Format{}, p.shape); err == nil {
		return text, true
	}
	text, _, err := transcode.Message(nil, m.Payload, f, jsonformat.Format{}) // the message does not have the shape of the schema
	return text, err == nil
}
