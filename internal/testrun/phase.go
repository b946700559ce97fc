package main

import (
	"cmp"
	"slices"
	"strings"
)

// programPackages are the packages, with those below them, whose tests start programs.
var programPackages = []string{
	"example.com/ferry/bench",
	"example.com/ferry/cmd",
	"example.com/ferry/examples",
	"example.com/ferry/node",
	"example.com/ferry/proxy/interop",
	"example.com/ferry/stream/proof",
}

// timingPackages are the packages, with those below them, whose tests measure times.
var timingPackages = []string{
	"example.com/ferry/bench/cpu_latency",
	"example.com/ferry/cpu",
}

// slowPackages are the packages whose tests take longest, the longest first.
var slowPackages = []string{
	"example.com/ferry/proxy/interop",
	"example.com/ferry/cmd/ferry/cli",
	"example.com/ferry/stream/proof",
	"example.com/ferry/loop",
	"example.com/ferry/rpc/native",
	"example.com/ferry/bench/attack",
	"example.com/ferry/bench/stream_e2e",
	"example.com/ferry/bench/cmd/release",
	"example.com/ferry/node",
	"example.com/ferry/proxy",
}

// startsPrograms reports whether the package with an import path is tested beside those that mostly compute.
func startsPrograms(path string) bool { return below(path, programPackages) }

// measuresTimes reports whether the package with an import path is tested in the second phase.
func measuresTimes(path string) bool { return below(path, timingPackages) }

func below(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rest, ok := strings.CutPrefix(path, root)
		return ok && (rest == "" || rest[0] == '/')
	})
}

// slowFirst sorts packages so that no slow one is left at the end, when nothing runs beside it. go test runs them in this order.
func slowFirst(packages []string) {
	rank := func(path string) int {
		if i := slices.Index(slowPackages, path); i >= 0 {
			return i
		}
		return len(slowPackages)
	}
	slices.SortStableFunc(packages, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
}
