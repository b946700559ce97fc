package upstream

import (
	"errors"
	"syscall"
)

// localFailures are connect errors that this machine causes, not the endpoint.
var localFailures = []error{
	syscall.EMFILE,        // this process has too many open files
	syscall.ENFILE,        // this machine has too many open files
	syscall.EADDRNOTAVAIL, // no local port is free
	syscall.ENOBUFS,
	syscall.ENOMEM,
}

// ConnectOutcome returns the Outcome of an attempt that could not connect because of err: LocalFailure or
// ConnectFailure.
func ConnectOutcome(err error) Outcome {
	for _, local := range localFailures {
		if errors.Is(err, local) {
			return LocalFailure
		}
	}
	return ConnectFailure
}
