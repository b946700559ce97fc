// Testrun runs the tests of each module named, with -shuffle=on, and sums up: what failed, what was skipped and how to
// bring what it needs, and on the last line the counts.
//
// The race detector is on in the packages that start goroutines or share memory (see needsRace), where there is a C
// compiler. With -cross the packages that read and write bytes are also tested as programs of other processors, under
// qemu-user (see foreign). Batches of packages run two at a time, as many tests wait more than they compute.
//
// Exit status 0 means that nothing failed. With CI=true in the environment a skipped test is a failure too.
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
	flag.BoolVar(&o.cross, "cross", false, "also test the packages that read and write bytes under qemu-user; the working directory is the root")
	flag.BoolVar(&o.raceAll, "race", false, "use the race detector in every package")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: testrun [-cross] [-race] MODULE-DIRECTORY...")
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

// options is how the tests are run.
type options struct {
	cross   bool // test crossPackages under emulators too
	raceAll bool // use the race detector in every package
	strict  bool // a skipped test is a failure
}

// run tests the modules, writes the report to w and reports whether nothing failed and, if strict, nothing was skipped.
// An error means that the tests could not be run.
func run(w io.Writer, modules []string, o options) (bool, error) {
	t := newTally(w)
	race := hasCompiler()
	if !race {
		fmt.Fprintln(w, "no C compiler: testing without -race")
	}
	var batches []batch
	for _, dir := range modules {
		these, err := moduleBatches(dir, race, o.raceAll)
		if err != nil {
			return false, fmt.Errorf("module %s: %w", dir, err)
		}
		batches = append(batches, these...)
	}
	if o.cross {
		for _, f := range foreign {
			if _, err := exec.LookPath(f.emulator); err != nil {
				t.skip(f.platform(), "the tests of "+strings.Join(crossPackages, " "), "needs "+f.emulator+": make deps")
				continue
			}
			batches = append(batches, f.batch())
		}
	}
	if err := runBatches(t, batches); err != nil {
		return false, err
	}
	t.summary(o.strict)
	return t.failed == 0 && (!o.strict || len(t.skipped) == 0), nil
}

// hasCompiler reports whether the race detector can be linked, which takes cgo.
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
