package main

import (
	"os"
	"os/exec"
	"path/filepath"
)

// tagged are packages that are tested once more, with a build tag that needs a program.
type tagged struct {
	tag      string
	program  string // a compiler
	packages []string
}

// taggedPackages is the list of the root module.
var taggedPackages = []tagged{
	{tag: "utp", program: "g++", packages: []string{"./transport/utp"}},
}

// taggedBatches returns the batches of taggedPackages that the module of dir has. Those whose program is missing are noted as skipped
// in t. race says that the machine supports the race detector.
func taggedBatches(t *tally, dir string, race bool) []batch {
	var all []batch
	for _, g := range taggedPackages {
		if _, err := os.Stat(filepath.Join(dir, g.packages[0])); err != nil {
			continue
		}
		_, err := exec.LookPath(g.program)
		if err != nil || !race {
			t.skip("-tags "+g.tag, "the tests of "+g.packages[0], "needs a C compiler and "+g.program+": make deps")
			continue
		}
		all = append(all, batch{dir: dir, label: "-tags " + g.tag, flags: []string{"-race", "-tags", g.tag}, packages: g.packages})
	}
	return all
}
