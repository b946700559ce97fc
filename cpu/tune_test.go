package cpu

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestMain lets a test call TuneProcess in a process of its own, because TuneProcess changes the whole process.
func TestMain(m *testing.M) {
	if os.Getenv("CPU_TEST_TUNE") != "" {
		before := runtime.GOMAXPROCS(0)
		tuned := TuneProcess(Tuning{Tokens: before + 5})
		if tuned.GOMAXPROCS != runtime.GOMAXPROCS(0) || tuned.KernelSlices == (tuned.Err != nil) {
			os.Exit(1)
		}
		switch tuned.GOMAXPROCS {
		case before:
			os.Stdout.WriteString("kept")
		case processors(before + 5):
			os.Stdout.WriteString("raised")
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTuneProcess(t *testing.T) {
	for _, row := range []struct {
		name, env, want string
	}{
		{"default", "GOMAXPROCS=", "raised"},
		{"the environment has said", "GOMAXPROCS=3", "kept"},
	} {
		t.Run(row.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "CPU_TEST_TUNE=1", row.env)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := string(out); got != row.want {
				t.Errorf("GOMAXPROCS was %q, want %q", got, row.want)
			}
		})
	}
}

func TestCores(t *testing.T) {
	if got := Cores(); got < 1 || got > runtime.NumCPU() {
		t.Errorf("got %d, want 1 to %d", got, runtime.NumCPU())
	}
}
