package config

import "example.com/ferry/internal/bytesize"

// Size is a number of bytes. In YAML it is written 512, 64KiB, 1MiB, 2GiB, or 1kB, 1MB, 1GB for powers of ten.
type Size = bytesize.Size
