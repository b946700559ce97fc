// Package membudget finds how much memory the process may use, and how much it uses.
//
//	budget, source := membudget.Find()
//	used := membudget.Used()
package membudget

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
)

// GoShare is the part of a budget that Go's soft memory limit should be, so that garbage is collected before the budget is
// used up.
const GoShare = 0.8

// Find returns the memory that the process may use, in bytes, and where that comes from: the smallest of GOMEMLIMIT divided by
// GoShare, the limits of the process's control groups, and what it uses plus what was available on the machine when it was
// called. It returns 0 if none is known.
func Find() (budget int64, source string) { return FindAt("/") }

// FindAt is Find on a machine whose /proc and /sys are below root.
func FindAt(root string) (budget int64, source string) {
	budget = math.MaxInt64
	consider := func(bytes int64, from string) {
		if bytes > 0 && bytes < budget {
			budget, source = bytes, from
		}
	}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		consider(int64(float64(limit)/GoShare), "GOMEMLIMIT")
	}
	consider(Group(root), "control group")
	if free := available(root); free > 0 {
		consider(Used()+free, "available memory")
	}
	if source == "" {
		return 0, ""
	}
	return budget, source
}

// Group returns the smallest memory limit of the process's control groups, in bytes, or 0 if there is none. /proc and /sys are below root.
func Group(root string) int64 { return groupLimit(root) }

// Used returns the memory that the process uses, in bytes. Where the system does not tell, it is the memory of the Go runtime.
func Used() int64 {
	if n := resident(); n > 0 {
		return n
	}
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
