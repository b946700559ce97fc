package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/cmd/ferry/scaffold"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
)

type devCmd struct {
	Listen address `default:"tcp://127.0.0.1:4190" placeholder:"ADDR" help:"Where the node listens: ${addresses}. The default is tcp://127.0.0.1:4190."`
	Dir    string  `arg:"" optional:"" default:"." help:"The folder of the function, with function.yaml. The default is this one."`
}

// Help returns the part of ferry dev --help that is not in the grammar.
func (*devCmd) Help() string {
	return `It builds the function, runs it in a node of its own, and prints all messages of this node, as ferry sub does. When a file that the build reads is saved with another content, the function is built again and takes the place of the one that runs. If that fails, the one before goes on.

function.yaml has the command that builds it, the tags that it observes, and, by watch, the names of the files that the build reads, such as ["*.go", go.mod, data.json]. What a Go file embeds with //go:embed is watched, too. The node keeps its token in .ferry-dev.

Example, in another terminal:

    echo '{"value":31}' | ferry pub -a tcp://127.0.0.1:4190 --data-dir .ferry-dev in/pump-1`
}

// How often the folder is looked at. A change counts when nothing has changed between two looks.
const devInterval = 300 * time.Millisecond

// devData is the data directory of the node, in the folder.
const devData = ".ferry-dev"

// Run builds and runs the function until Ctrl-C.
func (c *devCmd) Run(e *env) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil { // the paths of open files have no symbolic links
		dir = resolved
	}
	project, err := scaffold.Load(dir)
	if err != nil {
		return usageError{err}
	}
	ctx, stop := interruptible()
	defer stop()
	d := &development{env: e, dir: dir, project: project, listen: c.Listen}
	return d.run(ctx)
}

// development is one ferry dev.
type development struct {
	env     *env
	dir     string // absolute
	project scaffold.Project
	listen  address
	node    *node.Node // nil before the first build that succeeds
	ended   chan error // of the node
}

// run builds after each change, until ctx or the node ends.
func (d *development) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.ended = make(chan error, 2)
	var built, seen map[string]source
	ticks := time.NewTicker(devInterval)
	defer ticks.Stop()
	for {
		now := d.sources(seen)
		if settled := built == nil || maps.Equal(now, seen) && !maps.EqualFunc(now, built, source.same); settled {
			built = now
			if err := d.update(ctx); err != nil {
				if d.node == nil && !errors.As(err, new(*exec.ExitError)) {
					return err
				}
				fmt.Fprintf(d.env.stderr, "ferry dev: %v\n", err)
			}
		}
		seen = now
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return d.end()
		case err := <-d.ended:
			return err
		}
	}
}

// end waits until the node has stopped.
func (d *development) end() error {
	if d.node == nil {
		return nil
	}
	return <-d.ended
}

// source is the state of a file that the build reads.
type source struct {
	modified time.Time
	size     int64
	sum      [sha256.Size]byte // of the content
	embeds   string            // the patterns of a Go file's //go:embed, one a line
}

// same reports whether both have the same content.
func (s source) same(other source) bool { return s.sum == other.sum }

// sources returns the files of the folder that the build reads, without what is built and hidden, and without a file that the output goes to: it changes with
// each build. A file that is as it was before is not read again, and one that a process still writes, such as tee, is as it was before.
func (d *development) sources(before map[string]source) map[string]source {
	all, others := map[string]source{}, map[string]fs.FileInfo{}
	var changed []string
	read := func(path string, info fs.FileInfo) {
		s := source{info.ModTime(), info.Size(), before[path].sum, before[path].embeds}
		if s != before[path] {
			s.sum, s.embeds = contentOf(path)
			changed = append(changed, path)
		}
		all[path] = s
	}
	var output []fs.FileInfo
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if info, err := f.Stat(); err == nil {
			output = append(output, info)
		}
	}
	_ = filepath.WalkDir(d.dir, func(path string, entry fs.DirEntry, err error) error { // what cannot be read does not count
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		name := entry.Name()
		if entry.IsDir() && path != d.dir && (strings.HasPrefix(name, ".") || name == "target" || name == "__pycache__") {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || slices.ContainsFunc(output, func(o fs.FileInfo) bool { return os.SameFile(o, info) }) {
			return nil //nolint:nilerr // as above
		}
		if d.project.Reads(name) {
			read(path, info)
		} else {
			others[path] = info
		}
		return nil
	})
	for path, info := range others {
		if embedded(path, all) {
			read(path, info)
		}
	}
	if len(changed) == 0 {
		return all
	}
	for path := range openForWriting(changed) {
		if s, known := before[path]; known {
			all[path] = s
		} else {
			delete(all, path)
		}
	}
	return all
}

// embedded reports whether one of the files embeds path, by name or with its folder.
func embedded(path string, files map[string]source) bool {
	for file, s := range files {
		below, ok := strings.CutPrefix(path, filepath.Dir(file)+string(filepath.Separator))
		for ; ok && s.embeds != "" && below != "."; below = filepath.Dir(below) {
			for pattern := range strings.Lines(s.embeds) {
				if match, _ := filepath.Match(strings.TrimSuffix(pattern, "\n"), below); match { // the build refuses a malformed pattern
					return true
				}
			}
		}
	}
	return false
}

// contentOf returns the hash of a file's content, or of what can be read of it, and the patterns of files that a Go file embeds.
func contentOf(path string) (sum [sha256.Size]byte, embeds string) {
	if filepath.Ext(path) == ".go" {
		text, _ := os.ReadFile(path)
		return sha256.Sum256(text), embedsOf(string(text))
	}
	h := sha256.New()
	if f, err := os.Open(path); err == nil {
		_, _ = io.Copy(h, f)
		_ = f.Close()
	}
	return [sha256.Size]byte(h.Sum(nil)), ""
}

// embedsOf returns the patterns of the //go:embed lines of a Go file, one a line.
func embedsOf(text string) (embeds string) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "//go:embed ")
		for rest = strings.TrimSpace(rest); ok && rest != ""; rest = strings.TrimSpace(rest) {
			pattern, after, _ := strings.Cut(rest, " ")
			if quoted, err := strconv.QuotedPrefix(rest); err == nil {
				pattern, _ = strconv.Unquote(quoted) // it is quoted
				after = rest[len(quoted):]
			}
			embeds += strings.TrimPrefix(pattern, "all:") + "\n"
			rest = after
		}
	}
	return embeds
}

// update builds the function, and starts it in place of the one that runs.
func (d *development) update(ctx context.Context) error {
	began := time.Now()
	if err := d.build(ctx); err != nil {
		return err
	}
	if d.node == nil {
		if err := d.start(ctx); err != nil {
			return err
		}
		if err := d.show(ctx); err != nil {
			return err
		}
		d.explain() // after show: a message that is published now is printed
		return nil
	}
	if len(d.project.Command) > 0 {
		if err := d.node.RestartFunction(d.project.Name); err != nil {
			return err
		}
	} else if err := d.node.Apply(d.config()); err != nil {
		return err
	}
	d.env.note("%s: built and started again in %v", d.project.Name, time.Since(began).Round(time.Millisecond))
	return nil
}

// build runs the command that builds the function.
func (d *development) build(ctx context.Context) error {
	if len(d.project.Build) == 0 {
		return nil
	}
	cmd := exec.CommandContext(ctx, d.project.Build[0], d.project.Build[1:]...)
	cmd.Dir, cmd.Env = d.dir, os.Environ()
	for name, value := range d.project.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(d.project.Build, " "), err, output)
	}
	return nil
}

// config returns the configuration of the node.
func (d *development) config() *config.Config {
	cfg := config.Default()
	cfg.Live, cfg.Admin = config.Live{Interval: cfg.Live.Interval}, config.Admin{}
	cfg.Listeners = []config.Listener{{Address: d.listen.transport.Scheme + "://" + d.listen.rest}}
	cfg.DataDir = filepath.Join(d.dir, devData)
	f := config.Function{Name: d.project.Name, Observe: d.project.Observe, Where: d.project.Where}
	if d.project.Wasm != "" {
		f.Wasm = filepath.Join(d.dir, d.project.Wasm)
	}
	for _, arg := range d.project.Command { // a worker runs where ferry does
		if path := filepath.Join(d.dir, arg); arg != "" && !filepath.IsAbs(arg) {
			if _, err := os.Stat(path); err == nil {
				arg = path
			}
		}
		f.Command = append(f.Command, arg)
	}
	cfg.Functions = []config.Function{f}
	return cfg
}

// start runs the node until ctx ends.
func (d *development) start(ctx context.Context) error {
	n, err := node.Build(d.config(), d.env.extensions)
	if err != nil {
		return err
	}
	d.node = n
	go func() { d.ended <- n.Run(ctx) }()
	select {
	case <-n.Ready():
	case err := <-d.ended:
		d.node = nil
		return err
	}
	return nil
}

// explain says how to publish to the function.
func (d *development) explain() {
	d.env.note("%s runs, and starts again when a file is saved. Publish on what it observes, %s:\n\n    echo '{\"value\":31}' | ferry pub -a %s --data-dir %s %s\n",
		d.project.Name, strings.Join(d.project.Observe, ", "), d.node.Addresses()[0], filepath.Join(d.dir, devData), strings.NewReplacer("#", "a", "+", "a").Replace(d.project.Observe[0]))
}

// show prints the messages of the node, until ctx ends. It returns once the node has accepted the subscription.
func (d *development) show(ctx context.Context) error {
	at := nodeFlags{Addr: d.listen, DataDir: filepath.Join(d.dir, devData)}
	_, at.Addr.rest, _ = strings.Cut(d.node.Addresses()[0], "://") // the port that it has, if it may have any
	client, err := at.dial(ctx, d.env, stream.Config{Name: "ferry dev"})
	if err != nil {
		return err
	}
	p := &printer{env: d.env, formats: d.env.formats, endless: true, done: func() {}}
	shown, err := client.Start(ctx, stream.Function{Observe: []string{"#"}, Policy: stream.DropOldest, Concurrency: 1, Handler: p})
	if err != nil {
		return errors.Join(err, client.Close())
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-shown.Done():
		}
		_ = client.Close()
	}()
	return nil
}
