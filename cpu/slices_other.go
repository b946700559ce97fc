//go:build !linux

package cpu

import (
	"errors"
	"time"
)

func setSlices(time.Duration) error {
	return errors.New("cpu: kernel slices: only Linux has them, from 6.12 on")
}
