package upstream

import (
	"errors"
	"syscall"
)

// localFailures are what the system reports of connecting when this machine, not the endpoint, is the cause.
var localFailures = []error{
	syscall.EMFILE,        // this process has no descriptor left
	syscall.ENFILE,        // the machine has none
	syscall.EADDRNOTAVAIL, // no local port is left
	syscall.ENOBUFS,
	syscall.ENOMEM,
}

// ConnectOutcome returns the Outcome of an attempt whose connection was not made because of err: LocalFailure or
// ConnectFailure.
func ConnectOutcome(err error) Outcome {
	for _, local := range localFailures {
		if errors.Is(err, local) {
			return LocalFailure
		}
	}
	return ConnectFailure
}
