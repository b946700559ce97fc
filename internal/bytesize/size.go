// Package bytesize has the numbers of bytes of a configuration: text such as 64KiB.
package bytesize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. In YAML it is written 512, 64KiB, 1MiB, 2GiB, or 1kB, 1MB, 1GB for powers of ten.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"kB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"B", 1},
}

// Parse reads a size. A negative one, or one beyond int64, is an error.
func Parse(s string) (Size, error) {
	number, unit := s, int64(1)
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is not a size: write 512, 64KiB or 1MiB", s)
	}
	return Size(n * unit), nil
}

// UnmarshalText is Parse.
func (s *Size) UnmarshalText(b []byte) (err error) {
	*s, err = Parse(string(b))
	return err
}

// MarshalText is String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the shortest exact spelling.
func (s Size) String() string {
	for i := 2; i >= 0; i-- {
		if u := sizeUnits[i]; s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
