//go:build !unix

package handover

import (
	"errors"
	"os"
)

func duplicate(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

func inheritedFile(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func pair() (near, far *os.File, err error) { return nil, nil, errors.ErrUnsupported }
