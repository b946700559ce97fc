package godriver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
	"example.com/ferry/protocol/native/conformance"
	"example.com/ferry/rpc"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// driver carries out instructions.
type driver struct {
	ctx    context.Context // ends with the instructions
	log    *slog.Logger
	tasks  sync.WaitGroup // handlers of events that run beside the instructions
	client *stream.Client // nil before connect and after close
	subs   map[int]*subscription
	caller *rpc.Client // nil before the first call
	calls  map[int]context.CancelFunc
	served map[string]*service

	writing sync.Mutex
	out     *json.Encoder
	outErr  error
}

// maxLine bounds an instruction, in bytes.
const maxLine = 4 << 20

// Run reads instructions from in until its end and writes reports to out. logs get what the client logs.
func Run(ctx context.Context, in io.Reader, out, logs io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	d := &driver{
		ctx: ctx, log: slog.New(slog.NewTextHandler(logs, nil)), out: json.NewEncoder(out),
		subs: map[int]*subscription{}, calls: map[int]context.CancelFunc{}, served: map[string]*service{},
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var err error
	for err == nil && lines.Scan() {
		i := new(conformance.Instruction)
		if err = json.Unmarshal(lines.Bytes(), i); err == nil {
			d.report(d.carryOut(i))
		}
	}
	cancel()
	for _, s := range d.subs {
		s.release()
	}
	if d.client != nil {
		_ = d.client.Close() // the kit has closed the connection
	}
	d.tasks.Wait()
	return errors.Join(err, lines.Err(), d.outErr)
}

// report writes one line.
func (d *driver) report(p conformance.Report) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if err := d.out.Encode(p); err != nil && d.outErr == nil {
		d.outErr = fmt.Errorf("write a report: %w", err)
	}
}

// errUnsupported is the error of a verb that this driver does not have.
var errUnsupported = errors.New("unsupported")

// carryOut carries out one instruction and returns the response.
func (d *driver) carryOut(i *conformance.Instruction) conformance.Report {
	verb := map[string]func(*conformance.Instruction) error{
		"connect": d.connect, "close": d.close, "noop": func(*conformance.Instruction) error { return nil },
		"publish": d.publish, "flush": d.flush,
		"subscribe": d.subscribe, "release": d.release, "unsubscribe": d.unsubscribe,
		"call": d.call, "cancel": d.cancel, "serve": d.serve, "withdraw": d.withdraw,
	}[i.Do]
	p := conformance.Report{ID: i.ID}
	switch {
	case verb == nil:
		p.Unsupported = true
		return p
	case d.client == nil && i.Do != "connect" && i.Do != "noop":
		p.Error = "not connected"
		return p
	}
	err := verb(i)
	switch {
	case errors.Is(err, errUnsupported):
		p.Unsupported = true
	case err != nil:
		p.Error, p.Code = err.Error(), codeOf(err)
	}
	return p
}

// codeOf returns the code of the wire in err, or nil.
func codeOf(err error) *int {
	var e *native.Error
	if !errors.As(err, &e) {
		return nil
	}
	code := int(e.Code)
	return &code
}

func (d *driver) connect(i *conformance.Instruction) error {
	scheme, addr, _ := strings.Cut(i.Addr, "://")
	if scheme != "tcp" {
		return errUnsupported
	}
	client, err := stream.Dial(d.ctx, tcp.New(nil), addr, &stream.Config{
		Token: []byte(i.Token), Name: i.Name, Log: d.log, MinBackoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond,
	})
	if err == nil {
		d.client = client
	}
	return err
}

func (d *driver) close(*conformance.Instruction) error {
	client := d.client
	d.client = nil
	return client.Close()
}

func (d *driver) publish(i *conformance.Instruction) error {
	m := ferry.Message{Tag: i.Tag, Time: i.Time, Key: []byte(i.Key), ID: i.MessageID, To: ferry.SourceID(i.To)}
	if i.Type != "" {
		var err error
		if m.Type, err = ferry.ParseType(i.Type); err != nil {
			return err
		}
	}
	for range max(i.Repeat, 1) {
		m.Payload = append(m.Payload, i.Payload...)
	}
	send := d.client.Send
	if i.Stored {
		send = d.client.SendStored
	}
	for range max(i.Count, 1) {
		if err := send(d.ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) flush(*conformance.Instruction) error { return d.client.Flush(d.ctx) }
