//go:build !unix

package worker

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
)

var errUnix = fmt.Errorf("worker: processes of their own need a Unix system: %w", errors.ErrUnsupported)

func spawn(*exec.Cmd) (net.Conn, error) { return nil, errUnix }

func inherited(int) (net.Conn, error) { return nil, errUnix }

func awaitExit(int) bool { return false }

func setPriority(int, *Config) error { return nil }

func killGroup(int) {}

func hangUp(net.Conn) {}

func isReset(error) bool { return false }
