package crossing

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes a goroutine as a packet from the network does, through the poller, and to within tens of microseconds; the
// runtime's own timers ring up to a millisecond late in a process that has nothing else to do.
type alarm struct {
	fd   int
	file *os.File
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("crossing: timer: %w", err)
	}
	return &alarm{fd, os.NewFile(uintptr(fd), "timer")}, nil
}

// sleep takes a positive duration.
func (a *alarm) sleep(d time.Duration) error {
	if err := unix.TimerfdSettime(a.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}, nil); err != nil {
		return fmt.Errorf("crossing: timer: %w", err)
	}
	var rings [8]byte
	_, err := a.file.Read(rings[:])
	return err
}
