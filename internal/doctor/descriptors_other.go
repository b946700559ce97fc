//go:build !unix

package doctor

import "errors"

func descriptorLimit() (uint64, error) { return 0, errors.ErrUnsupported }
