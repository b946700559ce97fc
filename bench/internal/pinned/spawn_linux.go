package pinned

import (
	"os/exec"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// A process inherits the cores of the thread that starts it, and is killed when that thread ends (Pdeathsig). So one thread
// starts all processes, and lives as long as this program.

type order struct {
	cmd   *exec.Cmd
	cores []int
	done  chan error
}

var orders = sync.OnceValue(func() chan<- order {
	c := make(chan order)
	go func() {
		runtime.LockOSThread()
		var all unix.CPUSet
		err := unix.SchedGetaffinity(0, &all)
		for o := range c {
			if err != nil {
				o.done <- err
				continue
			}
			o.done <- o.start(all)
		}
	}()
	return c
})

func spawn(cmd *exec.Cmd, cores []int) error {
	o := order{cmd, cores, make(chan error)}
	orders() <- o
	return <-o.done
}

func (o order) start(set unix.CPUSet) error {
	if len(o.cores) > 0 {
		set.Zero()
		for _, core := range o.cores {
			set.Set(core)
		}
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return err
	}
	return o.cmd.Start()
}
