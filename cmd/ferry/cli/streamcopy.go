package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"

	"example.com/ferry/engine"
	"example.com/ferry/engine/archive"
	"example.com/ferry/node"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/backup"
	"example.com/ferry/node/config"
)

type streamCopyCmd struct {
	adminTarget
	From            string `placeholder:"ADDR" xor:"from" help:"The engine that has the stream: nats://HOST:PORT or tls://HOST:PORT, with commas between several servers. The default is that of a running node."`
	FromDir         string `placeholder:"DIR" xor:"from" help:"Read the stream from the data directory of a node that does not run, instead of from a running node."`
	To              string `placeholder:"ADDR" xor:"to" required:"" help:"The engine that gets the stream, as with --from."`
	ToDir           string `placeholder:"DIR" xor:"to" required:"" help:"Write the stream to the data directory of a node that does not run."`
	CredentialsFile string `placeholder:"FILE" help:"The .creds file of the account at the engines of --from and --to."`
	EngineCA        string `name:"engine-ca" placeholder:"FILE" help:"The CA certificate of these engines."`
	Name            string `arg:"" help:"The stream."`
}

// Help returns the part of ferry stream copy --help that is not in the grammar.
func (*streamCopyCmd) Help() string {
	return `The copy has the records, their sequence numbers, and the durables with their positions. The engine must not have a stream of that name.

To move a node from the embedded engine to a cluster, without losing a message: stop the node, copy each stream, change engine.address in its configuration, and start it.

    ferry stream copy --from-dir ferry-data --to nats://n1,n2,n3 orders

And back, while nothing publishes:

    ferry stream copy --from nats://n1,n2,n3 --to-dir ferry-data orders

Without --from and --from-dir, the streams come from a running node. Messages that it stores after the copy are not in it.

A stream with more than 100,000 removed messages between others gets other sequence numbers in a cluster, and the command says so. Its durables continue at the same messages.`
}

// Run copies the stream.
func (c *streamCopyCmd) Run(e *env) error {
	ctx, stop := interruptible()
	defer stop()
	target, to, err := c.engineAt(e, "--to", c.To, c.ToDir)
	if err != nil {
		return err
	}
	source, from, err := c.engineAt(e, "--from", c.From, c.FromDir)
	if err != nil {
		return err
	}
	copied, restored, err := c.copy(ctx, e, source, target)
	switch {
	case errors.Is(err, engine.ErrExists):
		return fmt.Errorf("%s has a stream %s already: a node has made it, or it was copied before; remove it there first", to, c.Name)
	case errors.Is(err, engine.ErrNoStream):
		return fmt.Errorf("%s has no stream %s", from, c.Name)
	case err != nil:
		return err
	}
	if restored.Renumbered {
		e.note("the messages of %s have other sequence numbers at %s, because more than 100,000 between them are removed; its durables continue at the same messages", c.Name, to)
	}
	return e.print(fmt.Appendf(nil, "%s: %d records, sequence %d to %d, are at %s\n", c.Name, copied.Records, copied.First, copied.Last, to))
}

// engineAt returns how the engine at an address or in a data directory is started, and what it is called. The configuration is nil if neither is given.
func (c *streamCopyCmd) engineAt(e *env, flag, address, dir string) (cfg *config.Config, name string, err error) {
	switch {
	case dir != "":
		return &config.Config{Engine: config.Engine{Address: config.EmbeddedEngine}, DataDir: dir}, dir, nil
	case address == "":
		return nil, "the node", nil
	}
	probe := config.Default()
	probe.Engine = config.Engine{Address: address, CredentialsFile: c.CredentialsFile, CAFile: c.EngineCA}
	if err := probe.Check(e.extensions.Program()); err != nil {
		return nil, "", usageError{err}
	}
	if address == config.MemoryEngine || probe.Engine.OnDisk() {
		return nil, "", usageError{fmt.Errorf("%s %s is an engine within a node: name servers, such as nats://n1,n2,n3, or a data directory with %s-dir", flag, address, flag)}
	}
	return &config.Config{Engine: probe.Engine}, address, nil
}

// startSource starts an engine that has streams. It makes no data directory.
func startSource(ctx context.Context, e *env, cfg *config.Config) (*startedEngine, error) {
	if cfg.DataDir != "" {
		if _, err := os.Stat(cfg.DataDir); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no data directory %s: name that of the node", cfg.DataDir)
		}
	}
	return startEngine(ctx, e, cfg, false)
}

func startEngine(ctx context.Context, e *env, cfg *config.Config, convert bool) (*startedEngine, error) {
	level := slog.LevelWarn
	if e.quiet {
		level = slog.LevelError
	}
	log := slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
	started, unlock, err := e.extensions.StartEngine(ctx, cfg, node.EngineSettings{Log: log, Convert: convert})
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

// copy copies the stream and returns the state of the copy. A source of nil is a node that runs.
func (c *streamCopyCmd) copy(ctx context.Context, e *env, source, target *config.Config) (copied engine.Info, restored archive.Restored, err error) {
	var from *startedEngine
	if source != nil {
		if from, err = startSource(ctx, e, source); err != nil {
			return copied, restored, err
		}
		defer func() { err = errors.Join(err, from.close()) }()
	}
	to, err := startEngine(ctx, e, target, true)
	if err != nil {
		return copied, restored, err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	into, ok := to.Engine.(archive.Restorer)
	if !ok {
		return copied, restored, errors.New("the engine restores no streams")
	}
	if from == nil {
		restored, err = c.fromNode(ctx, into)
	} else {
		restored, err = archive.Copy(ctx, from.Engine, into, c.Name)
	}
	if err != nil {
		return copied, restored, err
	}
	s, err := to.Stream(ctx, c.Name)
	if errors.Is(err, engine.ErrNoStream) {
		return copied, restored, fmt.Errorf("stream %s has storage: memory, so its records end with the node, and nothing was copied", c.Name)
	}
	if err == nil {
		copied, err = s.Info(ctx)
	}
	return copied, restored, err
}

// fromNode copies the stream of a node that runs.
func (c *streamCopyCmd) fromNode(ctx context.Context, target archive.Restorer) (restored archive.Restored, err error) {
	source, err := c.connect()
	if err != nil {
		return restored, err
	}
	defer source.close()
	response, err := source.open(ctx, http.MethodGet, streamPath(c.Name, "snapshot"))
	if err != nil {
		return restored, noStreams(err)
	}
	defer response.Body.Close()
	r, err := backup.NewReader(response.Body)
	if err != nil {
		return restored, explainArchive(err, response)
	}
	_, read, err := r.NextStream()
	if err != nil {
		return restored, explainArchive(err, response)
	}
	a, err := archive.Open(read)
	if err == nil {
		restored, err = target.Restore(ctx, a)
	}
	return restored, explainArchive(err, response)
}

// explainArchive adds why the node ended an archive early.
func explainArchive(err error, response *http.Response) error {
	if why := response.Trailer.Get(admin.ErrorTrailer); err != nil && why != "" {
		return fmt.Errorf("%w\nthe node says: %s", err, why)
	}
	return err
}
