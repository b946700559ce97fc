package main

import "strings"

// programPackages are the packages, with those below them, whose tests start programs, measure times, or need most of the machine.
var programPackages = []string{
	"example.com/ferry/bench",
	"example.com/ferry/cmd",
	"example.com/ferry/cpu",
	"example.com/ferry/examples",
	"example.com/ferry/node",
	"example.com/ferry/proxy/interop",
	"example.com/ferry/stream/proof",
}

// startsPrograms reports whether the package with an import path is tested in the second phase.
func startsPrograms(path string) bool {
	for _, p := range programPackages {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
