package loop

import (
	"sync"

	"golang.org/x/sys/unix"
)

// mostReserved bounds reserveDescriptors: the table then takes 512 KiB of the kernel's memory.
const mostReserved = 1 << 16

// reserveDescriptors makes the kernel's table of this process's descriptors as large as the limit of descriptors, once. The kernel doubles a
// full table, and in a process with several threads it then waits until no other thread reads the old one (synchronize_rcu). An accept or
// connect that needs the 256th, 512th and so on up to the 8192nd descriptor so took 8 to 15 ms, and all connections of the loop with it.
// The table takes 8 bytes of the kernel's memory for each descriptor. fd is any descriptor.
func reserveDescriptors(fd int) {
	reserve.Do(func() {
		// If it fails, the table grows later.
		if last, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, min(descriptorLimit(), mostReserved)-1); err == nil {
			_ = unix.Close(last)
		}
	})
}

var reserve sync.Once

// Reserve prepares the process for many descriptors, which may take 8 to 40 ms. The first New does it otherwise.
func Reserve() {
	if fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC); err == nil {
		reserveDescriptors(fd)
		_ = unix.Close(fd)
	}
}
