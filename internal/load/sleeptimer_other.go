//go:build !linux

package load

import "time"

// sleepTimer wakes a goroutine with the runtime's timers.
type sleepTimer struct{}

func newSleepTimer() sleepTimer          { return sleepTimer{} }
func (sleepTimer) sleep(d time.Duration) { time.Sleep(d) }
func (sleepTimer) close()                {}
