package load

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sleepTimer wakes a goroutine with an error of tens of microseconds. It uses a timer descriptor in the network poller, because
// the runtime's own timers fire up to a millisecond late in an idle process.
type sleepTimer struct {
	fd   int
	file *os.File // nil if the system has given no descriptor
}

func newSleepTimer() sleepTimer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return sleepTimer{} // the run's lateness shows the difference
	}
	return sleepTimer{fd, os.NewFile(uintptr(fd), "timer")}
}

// sleep takes a positive duration.
func (t sleepTimer) sleep(d time.Duration) {
	var expirations [8]byte
	if t.file != nil && unix.TimerfdSettime(t.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}, nil) == nil {
		if _, err := t.file.Read(expirations[:]); err == nil {
			return
		}
	}
	time.Sleep(d)
}

func (t sleepTimer) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}
