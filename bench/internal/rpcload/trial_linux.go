package rpcload

import (
	"fmt"
	"runtime"
	"time"

	"example.com/ferry/bench/internal/harness"
)

// Trial is what all measurements of a question share.
type Trial struct {
	Workers, Conns int // as in Spec
	dir            string
}

// Prepare makes the files that the systems need in dir. It returns an error if the machine has one core only.
func (t *Trial) Prepare(dir string) error {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	t.dir = dir
	return Prepare(dir)
}

// Spec returns the Spec of the trial's sessions.
func (t *Trial) Spec() Spec { return Spec{Dir: t.dir, Workers: t.Workers, Conns: t.Conns} }

// Open starts a system.
func (t *Trial) Open(s System) (harness.Session, error) { return Open(s, t.Spec()) }

// Check makes calls with each system, and counts the bytes of those that can.
func (t *Trial) Check(all []System) error {
	for _, s := range all {
		spec := t.Spec()
		spec.Count = s.Counted
		if err := Check(s, spec, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
