package main

import "strings"

// alonePackages are the packages, with those below them, whose tests start programs, measure times, or need most of the machine.
var alonePackages = []string{
	"example.com/ferry/bench",
	"example.com/ferry/cmd",
	"example.com/ferry/cpu",
	"example.com/ferry/examples",
	"example.com/ferry/node",
	"example.com/ferry/proxy/interop",
}

// runsAlone reports whether the package with an import path is tested in the second phase.
func runsAlone(path string) bool {
	for _, p := range alonePackages {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
