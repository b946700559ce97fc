package child

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profileVariable names a directory in the environment: each role writes a CPU profile of its whole run there.
const profileVariable = "FERRY_BENCH_PROFILE"

// Main runs a role if this process was started as one, and does not return then. begin starts the role. It returns the function
// that executes orders, and the first report. name gives the role in errors and in the name of a profile.
func Main[Spec, Order, Report any](variable string, name func(Spec) string, begin func(Spec) (func(Order) Report, Report, error)) {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return
	}
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		Fail(fmt.Errorf("%s: %w", variable, err))
	}
	if err := serve(s, name(s), begin); err != nil {
		Fail(fmt.Errorf("%s: %w", name(s), err))
	}
	os.Exit(0)
}

// Fail prints the error and ends this process. The benchmark reads the output.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// serve executes orders until standard input ends.
func serve[Spec, Order, Report any](s Spec, name string, begin func(Spec) (func(Order) Report, Report, error)) error {
	if dir := os.Getenv(profileVariable); dir != "" {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.prof", name, os.Getpid())))
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	handle, ready, err := begin(s)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(ready); err != nil {
		return err
	}
	for in := json.NewDecoder(os.Stdin); ; {
		var o Order
		if in.Decode(&o) != nil {
			return nil // the benchmark has ended
		}
		if err := out.Encode(handle(o)); err != nil {
			return err
		}
	}
}
