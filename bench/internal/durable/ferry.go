package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"example.com/ferry"
	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/numbered"
	"example.com/ferry/internal/pki"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

const ferryTag = "orders/bench"

// nodeConfig is that of examples/stream/durable.yaml, but for addresses, the data directory, sync, retention and replicas.
const nodeConfig = `listeners:
  - address: tcp://%s
admin:
  address: %s
data_dir: %s
engine:
%sstreams:
  - name: %s
    tags: orders/#
    delivery: at-least-once
    replicas: %d
%s    redelivery: {max: 5, backoff: [1s, 5s, 30s]}
    dead_letter: dead/orders
  - name: %s-dead
    tags: dead/#
    delivery: at-least-once
    replicas: %d
    retention: {age: 720h, size: 256MiB}
`

// startFerry starts ferry's binary, and returns the address of its listener.
func startFerry(s Setup) (*child.Process, string, error) {
	addr, err := ferrynode.FreeAddr()
	if err != nil {
		return nil, "", err
	}
	admin, err := ferrynode.FreeAddr()
	if err != nil {
		return nil, "", err
	}
	engine := "  address: embedded\n  sync: always\n"
	switch {
	case s.System == FerryExternal:
		engine = "  address: nats://" + strings.Join(s.Servers.addrs, ",") + "\n"
	case !s.Always:
		engine = fmt.Sprintf("  address: embedded\n  sync: interval\n  interval: %v\n", interval)
	}
	retention := ""
	if s.Keep > 0 {
		retention = fmt.Sprintf("    retention: {size: %d}\n", s.Keep)
	}
	data := s.data()
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, "", err
	}
	file := filepath.Join(data, "node.yaml")
	text := fmt.Sprintf(nodeConfig, addr, admin, data, engine, s.Name, s.Replicas, retention, s.Name, s.Replicas)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, "", err
	}
	p, err := child.Program("", "ferry run", filepath.Join(s.Dir, ferrynode.Binary), "run", "-c", file)
	if err != nil {
		return nil, "", err
	}
	if err := ferrynode.WaitReady(admin); err != nil {
		return nil, "", fmt.Errorf("%w: %s", err, p.End())
	}
	return p, addr, nil
}

// data is the data directory of a node.
func (s Setup) data() string { return filepath.Join(s.Dir, "ferry-"+s.Name) }

type ferryClient struct {
	client   *stream.Client
	source   *stream.Source
	durables int
}

func ferryDial(ctx context.Context, s spec) (client, error) {
	token, err := pki.ReadToken(filepath.Join(s.Dir, pki.TokenFile))
	if err != nil {
		return nil, err
	}
	f := new(ferryClient)
	cfg := &stream.Config{Token: []byte(token), Name: "bench", Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if f.client, err = stream.Dial(ctx, tcp.New(nil), s.Addrs[0], cfg); err != nil {
		return nil, err
	}
	f.source, err = f.client.Source(ctx, ferryTag)
	return f, err
}

func (f *ferryClient) publish(ctx context.Context, payload []byte) error {
	return f.source.SendStored(ctx, ferry.Message{Type: ferry.CBOR, Payload: payload})
}

func (f *ferryClient) fill(ctx context.Context, n int, next func() []byte) error {
	for range n {
		if err := f.source.Send(ctx, ferry.Message{Type: ferry.CBOR, Payload: next()}); err != nil {
			return err
		}
	}
	return f.client.Flush(ctx)
}

func (f *ferryClient) consume(ctx context.Context, handle func(payload []byte), fail func(error)) (func(), error) {
	f.durables++ // each consumer begins with new messages
	running, err := f.client.Start(ctx, stream.Function{
		Observe: []string{"orders/#"}, Durable: fmt.Sprintf("bench-%d-%d", os.Getpid(), f.durables), Concurrency: 1,
		Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
			handle(in.Payload)
			return nil
		}),
	})
	if err != nil {
		return nil, err
	}
	var stopping atomic.Bool
	go func() {
		<-running.Done()
		if !stopping.Load() {
			fail(errors.Join(errors.New("the function ended"), running.Err()))
		}
	}()
	return func() {
		stopping.Store(true)
		running.Stop()
	}, nil
}

// batches handles the messages of a batch until handle returns false.
type batches struct {
	handle func(payload []byte) bool
	done   chan struct{}
	ended  bool
}

func (b *batches) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	return b.HandleBatch(ctx, []ferry.Message{*in}, out)
}

func (b *batches) HandleBatch(_ context.Context, in []ferry.Message, _ ferry.Sender) error {
	for i := range in {
		if b.ended {
			return nil
		}
		if b.ended = !b.handle(in[i].Payload); b.ended {
			close(b.done)
		}
	}
	return nil
}

func (f *ferryClient) replay(ctx context.Context, where bool, handle func(payload []byte) bool) error {
	b := &batches{handle: handle, done: make(chan struct{})}
	function := stream.Function{Observe: []string{"orders/#"}, From: stream.FromFirst(), Concurrency: 1, Handler: b}
	if where {
		function.Where = numbered.Where
	}
	running, err := f.client.Start(ctx, function)
	if err != nil {
		return err
	}
	defer running.Stop()
	select {
	case <-b.done:
		return nil
	case <-running.Done():
		return running.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
