package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// letKernelPreempt makes the kernel run the thread that is due on this core. That may be the calling thread. The kernel decides this at each
// tick of its scheduler (4 ms with HZ=250), and also whenever it accounts for the CPU time of the running thread, which reading that time does.
// Unlike sched_yield(2) this does not shorten the caller's share of the core. The call is raw, because it never sleeps: the
// runtime treats a thread that the kernel preempts in it like one that is preempted in a job's own code.
func letKernelPreempt() {
	var used unix.Timespec
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&used)), 0)
}
