//go:build !linux

package crossing

import "time"

// alarm is the runtime's own.
type alarm struct{}

func newAlarm() (*alarm, error) { return new(alarm), nil }

func (*alarm) sleep(d time.Duration) error {
	time.Sleep(d)
	return nil
}
