package main

import "runtime"

// crossPackages are the packages whose results must not depend on the width of an int or on the order of bytes.
var crossPackages = []string{"./field/...", "./format/...", "./protocol/...", "./edgex/...", "./codec/..."}

// processor is another processor than that of this machine.
type processor struct {
	arch     string // value of GOARCH
	emulator string // name of the program that runs binaries for the processor; empty if this machine runs them
}

// otherProcessors returns one processor with 32 bits and one with big-endian words. On amd64, Linux runs binaries for 386 itself.
func otherProcessors() []processor {
	narrow := processor{"arm", "qemu-arm"}
	if runtime.GOARCH == "amd64" {
		narrow = processor{arch: "386"}
	}
	return []processor{narrow, {"s390x", "qemu-s390x"}}
}

func (p processor) platform() string { return "linux/" + p.arch }

// batch returns the batch that tests crossPackages on p. It runs with -short, because an emulator is about ten times slower.
func (p processor) batch() batch {
	b := batch{
		dir:      ".",
		label:    p.platform(),
		flags:    []string{"-short"},
		packages: crossPackages,
		env:      []string{"GOOS=linux", "GOARCH=" + p.arch, "CGO_ENABLED=0"},
	}
	if p.emulator != "" {
		b.flags = append(b.flags, "-exec", p.emulator)
	}
	return b
}
