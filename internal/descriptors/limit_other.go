//go:build !unix

package descriptors

import "math"

func current() int64 { return math.MaxInt64 }

func lowestFree() (fd int, ok bool) { return 0, true }
