//go:build !linux

package pubsub

import "time"

// sleepTimer is time.Sleep.
type sleepTimer struct{}

func newSleepTimer() (*sleepTimer, error) { return new(sleepTimer), nil }

func (*sleepTimer) sleep(d time.Duration) error {
	time.Sleep(d)
	return nil
}
