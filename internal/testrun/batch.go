package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// parallelBatches is the number of batches that run at the same time. Each batch tests as many packages at a time as there are
// cores.
const parallelBatches = 2

// batch is one call of `go test`.
type batch struct {
	dir   string   // directory of a module
	label string   // prefix of package names in the report; may be empty
	args  []string // arguments of `go test`: flags, then packages
	env   []string // environment variables in addition to those of this process
}

// moduleBatches splits the packages of a module into two batches, with and without the race detector. race says that the
// machine supports the detector. raceAll then uses it in every package.
func moduleBatches(dir string, race, raceAll bool) ([]batch, error) {
	if race && raceAll {
		return []batch{{dir: dir, args: []string{"-race", "./..."}}}, nil
	}
	s, err := selectPackages(dir, "./...")
	if err != nil {
		return nil, err
	}
	var all []batch
	if race && len(s.race) > 0 {
		all = append(all, batch{dir: dir, args: append([]string{"-race"}, s.race...)})
	} else {
		s.plain = append(s.plain, s.race...)
	}
	if len(s.plain) > 0 || len(all) == 0 { // if dir is wrong, go test without packages says why
		all = append(all, batch{dir: dir, args: s.plain})
	}
	return all, nil
}

// runBatches starts the batches in order, parallelBatches at a time, and adds their events to t. It returns an error if a
// batch could not be run.
func runBatches(t *tally, batches []batch) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelBatches)
	errs := make([]error, len(batches))
	for i, b := range batches {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = b.run(t)
			<-slots
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// run runs `go test` and adds its events to t. A failed command is an error only if no event reports a failure.
func (b batch) run(t *tally) error {
	// No vet here, because make lint runs vet.
	cmd := exec.Command("go", append([]string{"test", "-json", "-shuffle=on", "-vet=off"}, b.args...)...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), b.env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed, decodeErr := decode(out, b.label, t)
	if err := cmd.Wait(); err != nil && !failed {
		return fmt.Errorf("%s in %s: %w", cmd, b.dir, err)
	}
	return decodeErr
}

// decode adds the events in r to t. It reports whether an event is a failure.
func decode(r io.Reader, label string, t *tally) (failed bool, err error) {
	for dec := json.NewDecoder(r); ; {
		var e event
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF):
			return failed, nil
		case err != nil:
			return failed, fmt.Errorf("the output of go test -json: %w", err)
		}
		if label != "" {
			e.Package = label + " " + e.Package
		}
		failed = failed || e.Action == "fail"
		t.add(e)
	}
}
