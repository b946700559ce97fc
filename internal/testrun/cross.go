package main

// crossPackages are the packages whose results must not depend on the width of an int or on the order of bytes.
var crossPackages = []string{"./field/...", "./format/...", "./protocol/...", "./edgex/...", "./codec/..."}

// processor is one that is emulated.
type processor struct {
	arch     string // GOARCH
	emulator string // the program that runs its binaries
}

// foreign are a processor with 32 bits and one with big-endian words.
var foreign = []processor{{"arm", "qemu-arm"}, {"s390x", "qemu-s390x"}}

func (p processor) platform() string { return "linux/" + p.arch }

// batch is the tests of crossPackages on p. An emulator is some ten times slower, so they run with -short.
func (p processor) batch() batch {
	return batch{
		dir:   ".",
		label: p.platform(),
		args:  append([]string{"-short", "-exec", p.emulator}, crossPackages...),
		env:   []string{"GOOS=linux", "GOARCH=" + p.arch, "CGO_ENABLED=0"},
	}
}
