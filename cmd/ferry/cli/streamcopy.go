package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"

	"example.com/ferry/engine"
	"example.com/ferry/node"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/backup"
	"example.com/ferry/node/config"
)

type streamCopyCmd struct {
	adminTarget
	To              string `required:"" placeholder:"ADDR" help:"The engine that gets the stream: nats://HOST:PORT or tls://HOST:PORT, with commas between several servers."`
	CredentialsFile string `placeholder:"FILE" help:"The .creds file of the account at that engine."`
	EngineCA        string `name:"engine-ca" placeholder:"FILE" help:"The CA certificate of that engine."`
	FromDir         string `placeholder:"DIR" help:"Read the stream from the data directory of a node that does not run, instead of from a running node."`
	Name            string `arg:"" help:"The stream."`
}

// Help returns the part of ferry stream copy --help that is not in the grammar.
func (*streamCopyCmd) Help() string {
	return `The copy has the records, their sequence numbers, and the durables with their positions. The engine must not have a stream of that name.

To move a node from the embedded engine to a cluster, without losing a message: stop the node, copy each stream, change engine.address in its configuration, and start it.

    ferry stream copy --from-dir ferry-data --to nats://n1,n2,n3 orders

Without --from-dir, the streams come from a running node. Messages that it stores after the copy are not in it.`
}

// Run copies the stream.
func (c *streamCopyCmd) Run(e *env) error {
	target := &config.Config{Engine: config.Engine{Address: c.To, CredentialsFile: c.CredentialsFile, CAFile: c.EngineCA}, DataDir: c.DataDir}
	if err := checkTarget(e, target); err != nil {
		return usageError{err}
	}
	ctx, stop := interruptible()
	defer stop()
	copied, err := c.copy(ctx, e, target)
	switch {
	case errors.Is(err, engine.ErrExists):
		return fmt.Errorf("the engine at %s has a stream %s already: a node with that engine.address has made it, or it was copied before; remove it there first", c.To, c.Name)
	case err != nil:
		return err
	}
	return e.print(fmt.Appendf(nil, "%s: %d records, sequence %d to %d, are at %s\n", c.Name, copied.Records, copied.First, copied.Last, c.To))
}

// checkTarget refuses an address that is no server.
func checkTarget(e *env, target *config.Config) error {
	probe := config.Default()
	probe.Engine = target.Engine
	if err := probe.Check(e.extensions.Program()); err != nil {
		return err
	}
	if target.Engine.Address == config.MemoryEngine || target.Engine.OnDisk() {
		return fmt.Errorf("--to %s is an engine within a node: name servers, such as nats://n1,n2,n3", target.Engine.Address)
	}
	return nil
}

func startEngine(ctx context.Context, e *env, cfg *config.Config) (*startedEngine, error) {
	level := slog.LevelWarn
	if e.quiet {
		level = slog.LevelError
	}
	log := slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
	started, unlock, err := e.extensions.StartEngine(ctx, cfg, node.EngineSettings{Log: log})
	if err != nil {
		return nil, err
	}
	return &startedEngine{started, unlock}, nil
}

// startedEngine is the engine of a node that does not run, and cannot start before close.
type startedEngine struct {
	engine.Engine
	unlock func() error
}

// close waits for nothing: what a snapshot has restored is stored.
func (s *startedEngine) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	return errors.Join(s.Close(ctx), s.unlock())
}

// copy copies the stream and returns the state of the copy.
func (c *streamCopyCmd) copy(ctx context.Context, e *env, target *config.Config) (copied engine.Info, err error) {
	var from *startedEngine // nil: a node that runs
	if c.FromDir != "" {
		if from, err = startEngine(ctx, e, &config.Config{Engine: config.Engine{Address: node.DataEngine(c.FromDir)}, DataDir: c.FromDir}); err != nil {
			return copied, err
		}
		defer func() { err = errors.Join(err, from.close()) }()
	}
	to, err := startEngine(ctx, e, target)
	if err != nil {
		return copied, err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	into, ok := to.Engine.(engine.Snapshotter)
	if !ok {
		return copied, fmt.Errorf("the engine at %s restores no streams", c.To)
	}
	if from == nil {
		err = c.fromNode(ctx, into)
	} else if source, ok := from.Engine.(engine.Snapshotter); ok {
		err = pipeSnapshot(ctx, source, into, c.Name)
	} else {
		err = errors.New("the embedded engine of this program saves no streams")
	}
	if err != nil {
		return copied, err
	}
	all, err := to.List(ctx)
	if err != nil {
		return copied, err
	}
	for _, info := range all {
		if info.Config.Name == c.Name {
			return info, nil
		}
	}
	return copied, fmt.Errorf("the engine at %s does not have the stream after the copy", c.To)
}

// errStopped ends a snapshot whose restoration has failed.
var errStopped = errors.New("the restoration has ended")

// pipeSnapshot restores what Snapshot writes, part by part.
func pipeSnapshot(ctx context.Context, from, to engine.Snapshotter, name string) error {
	next, stop := iter.Pull2(func(yield func([]byte, error) bool) {
		err := from.Snapshot(ctx, name, func(part []byte) error {
			if !yield(part, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	})
	defer stop()
	return to.Restore(ctx, name, func() ([]byte, error) {
		part, err, more := next()
		if !more {
			return nil, io.EOF
		}
		return part, err
	})
}

// fromNode copies the stream of a node that runs.
func (c *streamCopyCmd) fromNode(ctx context.Context, target engine.Snapshotter) error {
	source, err := c.connect()
	if err != nil {
		return err
	}
	defer source.close()
	response, err := source.open(ctx, http.MethodGet, streamPath(c.Name, "snapshot"))
	if err != nil {
		return noStreams(err)
	}
	defer response.Body.Close()
	r, err := backup.NewReader(response.Body)
	if err != nil {
		return explainArchive(err, response)
	}
	name, read, err := r.NextStream()
	if err != nil {
		return explainArchive(err, response)
	}
	return explainArchive(target.Restore(ctx, name, read), response)
}

// explainArchive adds why the node ended an archive early.
func explainArchive(err error, response *http.Response) error {
	if why := response.Trailer.Get(admin.ErrorTrailer); err != nil && why != "" {
		return fmt.Errorf("%w\nthe node says: %s", err, why)
	}
	return err
}
