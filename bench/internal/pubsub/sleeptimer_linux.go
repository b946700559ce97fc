package pubsub

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sleepTimer wakes a goroutine with an error of tens of microseconds. It uses a timer descriptor in the network poller, because
// the runtime's own timers fire up to a millisecond late in an idle process.
type sleepTimer struct {
	fd   int
	file *os.File
}

func newSleepTimer() (*sleepTimer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("pubsub: timer: %w", err)
	}
	return &sleepTimer{fd, os.NewFile(uintptr(fd), "timer")}, nil
}

// sleep takes a positive duration.
func (a *sleepTimer) sleep(d time.Duration) error {
	if err := unix.TimerfdSettime(a.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}, nil); err != nil {
		return fmt.Errorf("pubsub: timer: %w", err)
	}
	var rings [8]byte
	_, err := a.file.Read(rings[:])
	return err
}
