package cli

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

type adminProfileCmd struct {
	adminTarget
	Seconds int    `placeholder:"N" help:"How long to measure, up to 300. The default is 10 for cpu, block and mutex, and 3 for trace. heap and goroutine are of the moment."`
	Kind    string `arg:"" enum:"cpu,heap,goroutine,mutex,block,trace" help:"cpu, heap, goroutine, mutex, block or trace."`
	File    string `arg:"" optional:"" help:"The file to write. The default is KIND.pprof, or trace.out; - is standard output."`
}

// Help returns the part of ferry admin profile --help that is not in the grammar.
func (*adminProfileCmd) Help() string {
	return `cpu is where CPU time goes, heap what takes memory, goroutine where goroutines are, mutex and block where they wait for each other, and trace all events of the scheduler.

Examples:

    ferry admin profile cpu --seconds 30
    go tool pprof -http=: cpu.pprof
    ferry admin profile trace && go tool trace trace.out`
}

// profiles has where each kind of profile is.
var profiles = map[string]struct {
	method, path string
	seconds      int // by default; 0 means that it is of the moment
}{
	"cpu":       {http.MethodGet, "/debug/pprof/profile", 10},
	"heap":      {http.MethodGet, "/debug/pprof/heap", 0},
	"goroutine": {http.MethodGet, "/debug/pprof/goroutine", 0},
	"mutex":     {http.MethodPost, "/api/profile/mutex", 10},
	"block":     {http.MethodPost, "/api/profile/block", 10},
	"trace":     {http.MethodGet, "/debug/pprof/trace", 3},
}

// longestProfile bounds --seconds.
const longestProfile = 300

// Run takes the profile.
func (c *adminProfileCmd) Run(e *env) error {
	kind := profiles[c.Kind]
	seconds := c.Seconds
	switch {
	case seconds == 0:
		seconds = kind.seconds
	case kind.seconds == 0:
		return usagef("--seconds: %s is of the moment: leave it out", c.Kind)
	case seconds < 1 || seconds > longestProfile:
		return usagef("--seconds: %d: want 1 to %d", seconds, longestProfile)
	}
	path := kind.path
	if seconds > 0 {
		path += fmt.Sprintf("?seconds=%d", seconds)
	}
	out, err := c.create(e)
	if err != nil {
		return err
	}
	n, err := c.take(e, kind.method, path, seconds, out)
	if err := out.end(err); err != nil {
		return err
	}
	if out.file != nil {
		e.note("%s: %d bytes", out.name, n)
	}
	return nil
}

// take writes the profile and returns its bytes.
func (c *adminProfileCmd) take(e *env, method, path string, seconds int, out *profileFile) (int64, error) {
	client, err := c.connect()
	if err != nil {
		return 0, err
	}
	defer client.close()
	ctx, stop := interruptible()
	defer stop()
	if seconds > 0 {
		e.note("measuring for %d s", seconds)
	}
	response, err := client.open(ctx, method, path)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return io.Copy(out, response.Body)
}

// profileFile is where a profile goes. A file appears under its name when it is whole.
type profileFile struct {
	io.Writer
	name string
	file *os.File // nil for standard output
}

// create opens the output, before the time of measuring is spent.
func (c *adminProfileCmd) create(e *env) (*profileFile, error) {
	out := &profileFile{Writer: e.stdout, name: c.File}
	switch {
	case c.File == "-":
		return out, nil
	case c.File == "" && c.Kind == "trace":
		out.name = "trace.out"
	case c.File == "":
		out.name = c.Kind + ".pprof"
	}
	f, err := os.CreateTemp(filepath.Dir(out.name), ".profile")
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", out.name, err)
	}
	out.Writer, out.file = f, f
	return out, nil
}

// end gives the file its name, or removes it if err is not nil. It returns err, or what failed.
func (p *profileFile) end(err error) error {
	if p.file == nil {
		return err
	}
	if closeErr := p.file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		if err = os.Rename(p.file.Name(), p.name); err != nil {
			err = fmt.Errorf("cannot write %s: %w", p.name, err)
		}
	}
	if err != nil {
		_ = os.Remove(p.file.Name()) // the error is told
	}
	return err
}
