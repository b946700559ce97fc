//go:build !linux

package needs

import "errors"

func tryNetNS() error { return errors.ErrUnsupported }
