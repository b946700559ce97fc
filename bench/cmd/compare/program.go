package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/ferry/bench/internal/harness"
)

// trees holds the directories of the two versions.
type trees struct {
	dir        string // temporary directory for the built programs
	base, head string // root directories of ferry's module
}

// checkout unpacks commit base into dir. It replaces base's harness by head's harness, because an older harness may not
// support measuring on request.
func checkout(dir, base string) (trees, error) {
	head, err := harness.Root()
	if err != nil {
		return trees{}, err
	}
	t := trees{dir: dir, base: filepath.Join(dir, "base"), head: head}
	if err := os.Mkdir(t.base, 0o755); err != nil {
		return t, err
	}
	archive := exec.Command("git", "archive", "--output", filepath.Join(dir, "base.tar"), base+"^{commit}")
	archive.Dir = head
	if out, err := archive.CombinedOutput(); err != nil {
		return t, fmt.Errorf("%s is no commit or tag here: see git tag: %w\n%s", base, err, out)
	}
	if out, err := exec.Command("tar", "-x", "-C", t.base, "-f", filepath.Join(dir, "base.tar")).CombinedOutput(); err != nil {
		return t, fmt.Errorf("unpack %s: %w\n%s", base, err, out)
	}
	old := filepath.Join(t.base, "bench", "internal", "harness")
	if err := os.RemoveAll(old); err != nil {
		return t, err
	}
	return t, os.CopyFS(old, os.DirFS(filepath.Join(head, "bench", "internal", "harness")))
}

// program is a running benchmark of one version. It measures on request.
type program struct {
	inventory harness.Inventory
	cmd       *exec.Cmd
	in        io.WriteCloser
	requests  *json.Encoder
	responses *json.Decoder
}

// start builds the benchmark of one tree into dir, and starts it.
func start(ctx context.Context, tree, dir, question string, budget time.Duration) (*program, error) {
	bench := filepath.Join(tree, "bench")
	binary := filepath.Join(dir, question+"-"+filepath.Base(tree))
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./"+question)
	build.Dir = bench
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	env, err := withoutPeers()
	if err != nil {
		return nil, err
	}
	p := &program{cmd: exec.Command(binary, "-serve")}
	if budget > 0 {
		p.cmd.Args = append(p.cmd.Args, "-budget", budget.String())
	}
	p.cmd.Dir, p.cmd.Env = bench, env
	p.cmd.Stderr = io.Discard // progress: one line for each measurement
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.requests, p.responses = json.NewEncoder(p.in), json.NewDecoder(out)
	if err := p.responses.Decode(&p.inventory); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s -serve in %s has no inventory: %w", binary, bench, err)
	}
	return p, nil
}

// withoutPeers returns an environment in which a benchmark does not install peers. Compare does not measure peers, and
// installing them would fill the user's cache directory.
func withoutPeers() ([]string, error) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOCACHE: %w", err)
	}
	return append(os.Environ(), "GOCACHE="+strings.TrimSpace(string(cache)), "XDG_CACHE_HOME="+os.DevNull), nil
}

// measure returns the headline of a row in a case. ok is false if the row is not measured in the case.
func (p *program) measure(row, name string) (headline float64, ok bool, err error) {
	if err := p.requests.Encode(harness.MeasureRequest{Row: row, Case: name}); err != nil {
		return 0, false, err
	}
	var r harness.MeasureResponse
	if err := p.responses.Decode(&r); err != nil {
		return 0, false, err
	}
	if r.Err != "" {
		return 0, false, errors.New(r.Err)
	}
	headline, ok = r.Figures[p.inventory.Unit]
	return headline, ok, nil
}

// stop ends the program. The program removes its temporary files before it exits.
func (p *program) stop() {
	_ = p.in.Close()
	timer := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait()
}
