package main

// crossPackages are the packages whose results must not depend on the width of an int or on the order of bytes.
var crossPackages = []string{"./field/...", "./format/...", "./protocol/...", "./edgex/...", "./codec/..."}

// processor is a processor that an emulator runs.
type processor struct {
	arch     string // value of GOARCH
	emulator string // name of the program that runs binaries for the processor
}

// emulatedProcessors are one processor with 32 bits and one with big-endian words.
var emulatedProcessors = []processor{{"arm", "qemu-arm"}, {"s390x", "qemu-s390x"}}

func (p processor) platform() string { return "linux/" + p.arch }

// batch returns the batch that tests crossPackages on p. It runs with -short, because an emulator is about ten times slower.
func (p processor) batch() batch {
	return batch{
		dir:      ".",
		label:    p.platform(),
		flags:    []string{"-short", "-exec", p.emulator},
		packages: crossPackages,
		env:      []string{"GOOS=linux", "GOARCH=" + p.arch, "CGO_ENABLED=0"},
	}
}
