// Testrun runs the tests of the given modules with -shuffle=on and writes a report. The report lists the failed tests and the
// skipped tests, with the commands that install what a skipped test needs. Its last line has the counts.
//
// The race detector is on in packages that start goroutines or share memory (see needsRace), if there is a C compiler. With
// -cross, the packages that read and write bytes are also tested on other processors, under qemu-user if need be (see otherProcessors).
//
// Packages with a build tag that needs a compiler (see taggedPackages) are tested once more, with the tag.
//
// There are two phases. In the first one, two batches of packages run at a time: while the tests of programs wait, others are compiled. In
// the second one, one batch at a time, are the packages that measure times (see measuresTimes).
//
// Tests wait for programs, files and sockets, and a machine may stop for seconds at any moment. So a test that failed runs again, alone
// (see runAgain). If it passes then, it counts as passed, and the report names it. A data race, a panic and a package that does not
// build are failures without a second run.
//
// Exit status 0 means that no test failed. With CI=true in the environment a skipped test is also a failure.
//
//	go run ./internal/testrun -cross . bench
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	var o options
	flag.BoolVar(&o.cross, "cross", false, "also test the packages that read and write bytes on other processors; the working directory is the root")
	flag.BoolVar(&o.raceAll, "race", false, "use the race detector in every package")
	flag.StringVar(&o.since, "since", "", "test only what has changed since the `commit` where this branch left another, and what imports that")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: testrun [-cross] [-race] [-since COMMIT] MODULE-DIRECTORY...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 && !o.cross {
		flag.Usage()
		os.Exit(2)
	}
	o.strict = os.Getenv("CI") == "true"
	ok, err := run(os.Stdout, flag.Args(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// options say how the tests are run.
type options struct {
	cross   bool // also test crossPackages under emulators
	raceAll bool // use the race detector in every package
	strict  bool // a skipped test is a failure
	since   string
}

// run tests the modules and writes the report to w. It reports whether all tests passed; skipped tests count as passed unless
// o.strict is set. An error means that the tests could not be run.
func run(w io.Writer, modules []string, o options) (bool, error) {
	t := newTally(w)
	race := hasCompiler()
	if !race {
		fmt.Fprintln(w, "no C compiler: testing without -race")
	}
	var batches []batch
	var c change
	if o.since != "" {
		var err error
		if c, err = since(o.since); err != nil {
			return false, err
		}
	}
	for _, dir := range modules {
		these, err := moduleBatches(dir, race, o.raceAll, c)
		if err != nil {
			return false, fmt.Errorf("module %s: %w", dir, err)
		}
		batches = append(batches, these...)
		if o.since == "" {
			batches = append(batches, taggedBatches(t, dir, race)...)
		}
	}
	if o.cross {
		for _, f := range otherProcessors() {
			if _, err := exec.LookPath(f.emulator); err != nil && f.emulator != "" {
				t.skip(f.platform(), "the tests of "+strings.Join(crossPackages, " "), "needs "+f.emulator+": make deps")
				continue
			}
			batches = append(batches, f.batch())
		}
	}
	if err := runBatches(t, batches); err != nil {
		return false, err
	}
	if err := t.runAgain(); err != nil {
		return false, err
	}
	t.summary(o.strict)
	return t.failed == 0 && (!o.strict || len(t.skipped) == 0), nil
}

// hasCompiler reports whether the race detector can be linked, which needs cgo.
func hasCompiler() bool {
	out, err := exec.Command("go", "env", "CGO_ENABLED", "CC").Output()
	if err != nil {
		return false
	}
	enabled, cc, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	name, _, _ := strings.Cut(cc, " ")
	_, err = exec.LookPath(name)
	return enabled == "1" && err == nil
}
