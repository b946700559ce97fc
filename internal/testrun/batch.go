package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
)

// parallelBatches is the number of batches that run at the same time in the first phase. Every batch tests as many packages at a time as
// there are cores.
const parallelBatches = 2

// batch is one call of `go test`.
type batch struct {
	dir      string   // directory of a module
	label    string   // prefix of package names in the report; may be empty
	flags    []string // flags of `go test`
	packages []string // packages to test
	env      []string // environment variables in addition to those of this process
	second   bool     // runs in the second phase
}

// moduleBatches splits the packages of a module into batches: with and without the race detector, those that start programs and the
// others, and those of the second phase. race says that the machine supports the detector. raceAll then uses it in every package.
// c selects the packages that a change reaches; nil means all.
func moduleBatches(dir string, race, raceAll bool, c change) ([]batch, error) {
	s, err := selectPackages(dir, c)
	if err != nil {
		return nil, err
	}
	switch {
	case !race:
		s = selection{plain: append(s.plain, s.race...)}
	case raceAll:
		s = selection{race: append(s.race, s.plain...)}
	}
	kinds := []func(path string) bool{
		measuresTimes,
		func(path string) bool { return !measuresTimes(path) && startsPrograms(path) },
		func(path string) bool { return !measuresTimes(path) && !startsPrograms(path) },
	}
	var all []batch
	for _, detector := range []bool{true, false} {
		for i, is := range kinds {
			b := batch{dir: dir, second: i == 0}
			packages := s.plain
			if detector {
				b.flags, packages = []string{"-race"}, s.race
			}
			for _, p := range packages {
				if is(p) {
					b.packages = append(b.packages, p)
				}
			}
			if slowFirst(b.packages); len(b.packages) > 0 {
				all = append(all, b)
			}
		}
	}
	if len(all) == 0 && c == nil {
		return []batch{{dir: dir}}, nil // go test without packages says what is wrong with dir
	}
	return all, nil
}

// runBatches runs the batches of the first phase, parallelBatches at a time, and then those of the second phase, one after the other.
// It adds their events to t. It returns an error if a batch could not be run.
func runBatches(t *tally, batches []batch) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelBatches)
	errs := make([]error, len(batches))
	for i, b := range batches {
		if b.second {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = b.run(t)
			<-slots
		})
	}
	wg.Wait()
	for i, b := range batches {
		if b.second {
			errs[i] = b.run(t)
		}
	}
	return errors.Join(errs...)
}

// run runs `go test` and adds its events to t. A failed command is an error only if no event reports a failure.
func (b batch) run(t *tally) error {
	// No vet here, because make lint runs vet. The default timeout of 10 minutes is too short for the largest packages on a busy machine.
	cmd := exec.Command("go", slices.Concat([]string{"test", "-json", "-shuffle=on", "-vet=off", "-timeout=20m"}, b.flags, b.packages)...)
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
	failed, decodeErr := decode(out, b, t)
	if err := cmd.Wait(); err != nil && !failed {
		return fmt.Errorf("%s in %s: %w", cmd, b.dir, err)
	}
	return decodeErr
}

// decode adds the events in r, the output of b, to t. It reports whether an event is a failure.
func decode(r io.Reader, b batch, t *tally) (failed bool, err error) {
	for dec := json.NewDecoder(r); ; {
		var e event
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF):
			return failed, nil
		case err != nil:
			return failed, fmt.Errorf("the output of go test -json: %w", err)
		}
		failed = failed || e.Action == "fail"
		t.add(b, e)
	}
}
