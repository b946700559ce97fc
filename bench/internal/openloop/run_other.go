//go:build !linux

package openloop

import "errors"

func run(Spec) (*Report, error) { return nil, errors.New("openloop: only Linux has epoll") }
