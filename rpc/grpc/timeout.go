package grpc

import (
	"math"
	"strconv"
	"time"
)

// timeoutUnits are the units of grpc-timeout, the smallest first.
var timeoutUnits = [...]struct {
	letter byte
	length time.Duration
}{
	{'n', time.Nanosecond}, {'u', time.Microsecond}, {'m', time.Millisecond}, {'S', time.Second}, {'M', time.Minute}, {'H', time.Hour},
}

// maxTimeoutValue is the largest value of grpc-timeout: 8 digits.
const maxTimeoutValue = 99_999_999

// appendTimeout appends the value of grpc-timeout for d, which must be positive. It is rounded up, because the server must not give up
// before the client.
func appendTimeout(dst []byte, d time.Duration) []byte {
	for _, unit := range timeoutUnits {
		n := d / unit.length
		if d%unit.length != 0 {
			n++
		}
		if n <= maxTimeoutValue { // true for hours at the latest: the longest Duration has 2.6 million
			dst = append(strconv.AppendInt(dst, int64(n), 10), unit.letter)
			break
		}
	}
	return dst
}

// parseTimeout parses the value of grpc-timeout. A longer time than a Duration can hold gives the longest Duration.
func parseTimeout(value []byte) (d time.Duration, ok bool) {
	last := len(value) - 1
	if last < 1 || last > 8 {
		return 0, false
	}
	n := int64(0)
	for _, c := range value[:last] {
		if c-'0' > 9 {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	for _, unit := range timeoutUnits {
		if unit.letter != value[last] {
			continue
		}
		if n > math.MaxInt64/int64(unit.length) {
			return math.MaxInt64, true
		}
		return time.Duration(n) * unit.length, true
	}
	return 0, false
}
