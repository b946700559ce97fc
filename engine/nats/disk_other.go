//go:build !linux && !darwin

package nats

import "math"

// freeBytes is not known here: a full disk shows when a write fails.
func freeBytes(string) (int64, error) { return math.MaxInt64, nil }

// ignoreUnsupported drops all errors: some systems cannot sync directories and say so in different ways.
func ignoreUnsupported(error) error { return nil }
