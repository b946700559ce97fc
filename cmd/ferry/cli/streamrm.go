package cli

import (
	"context"
	"errors"
	"fmt"

	"example.com/ferry/engine"
	"example.com/ferry/node/config"
)

type streamRmCmd struct {
	DataDir string `default:"./ferry-data" placeholder:"DIR" help:"The data directory of the node, which does not run. The default is ./ferry-data."`
	Name    string `arg:"" help:"The stream."`
}

// Help returns the part of ferry stream rm --help that is not in the grammar.
func (*streamRmCmd) Help() string {
	return `A stream that is no longer in the configuration keeps its messages and its tags: a stream of another name cannot store these tags. ferry stream rm removes it from the data directory, with its messages and durables, while the node does not run.

Example, after the stream orders has got another name:

    ferry stream rm orders`
}

// Run removes the stream.
func (c *streamRmCmd) Run(e *env) error {
	ctx, stop := interruptible()
	defer stop()
	store, err := startSource(ctx, e, &config.Config{Engine: config.Engine{Address: config.EmbeddedEngine}, DataDir: c.DataDir})
	if err != nil {
		return err
	}
	removed, err := removeStream(ctx, store, c.Name)
	if errors.Is(err, engine.ErrNoStream) {
		err = fmt.Errorf("%s has no stream %s", c.DataDir, c.Name)
	}
	if err = errors.Join(err, store.close()); err != nil {
		return err
	}
	return e.print(fmt.Appendf(nil, "%s: %d records removed\n", c.Name, removed.Records))
}

// removeStream removes a stream and returns what its state was.
func removeStream(ctx context.Context, store engine.Engine, name string) (engine.Info, error) {
	all, err := store.List(ctx)
	if err != nil {
		return engine.Info{}, err
	}
	for _, info := range all {
		if info.Config.Name == name {
			return info, store.Delete(ctx, name)
		}
	}
	return engine.Info{}, engine.ErrNoStream
}
