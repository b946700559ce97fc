package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/bench/internal/harness"
)

// benchmark is the test program that holds BenchmarkHop.
type benchmark struct{ program string }

// build compiles it into dir.
func (b *benchmark) build(dir string) error {
	b.program = filepath.Join(dir, "hop.test")
	return harness.Go("test", "-c", "-o", b.program, "./broker")
}

// row returns the row that measures the sub-benchmark SIZE/sub.
func (b *benchmark) row(name string, kind harness.Kind, sub string) harness.Contender {
	version := "this commit"
	if kind == harness.Limit {
		version = "copy"
	}
	return harness.Contender{Name: name, Kind: kind, Version: version, Measure: func(size string, budget time.Duration) (harness.Figures, error) {
		for _, s := range sizes {
			if s.name == size {
				return b.run(s.sub+"/"+sub, budget.String())
			}
		}
		return nil, fmt.Errorf("stream_hop: no size %q", size)
	}}
}

// check runs each sub-benchmark for one message: it fails where a message does not reach all subscribers.
func (b *benchmark) check() error {
	for _, s := range sizes {
		for _, filter := range []string{"plain", "where"} {
			for _, v := range validations {
				if _, err := b.run(s.sub+"/"+filter+"/"+v, "1x"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// run runs one sub-benchmark. long is a value of the flag -test.benchtime.
func (b *benchmark) run(sub, long string) (harness.Figures, error) {
	pattern := "^BenchmarkHop$/^" + strings.ReplaceAll(sub, "/", "$/^") + "$"
	out, err := exec.Command(b.program, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", long, "-test.benchmem", "-test.timeout", "5m").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("stream_hop: BenchmarkHop/%s: %w\n%s", sub, err, out)
	}
	f, err := parse(out, sub)
	if err != nil {
		return nil, fmt.Errorf("stream_hop: BenchmarkHop/%s: %w:\n%s", sub, err, out)
	}
	return f, nil
}

// parse reads the one line about sub that a benchmark prints: its name, how often it ran, and pairs of value and unit.
func parse(out []byte, sub string) (harness.Figures, error) {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 4 || !strings.HasPrefix(words[0], "BenchmarkHop/"+sub) {
			continue
		}
		f := harness.Figures{}
		for i := 2; i+1 < len(words); i += 2 {
			v, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				return nil, fmt.Errorf("not a figure: %q", words[i])
			}
			f[words[i+1]] = v
		}
		for _, unit := range []string{harness.NsPerOp, harness.BytesPerOp, harness.AllocsPerOp} {
			if _, ok := f[unit]; !ok {
				return nil, fmt.Errorf("no %s", unit)
			}
		}
		return f, nil
	}
	return nil, errors.New("no result of this name")
}
