package balance

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

// unconnected are connect errors of an endpoint that has seen nothing of the connection.
var unconnected = []error{
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENOENT,
}

// OfConnect returns the outcome of an attempt that could not connect because of err: LocalFailure or ConnectFailure.
func OfConnect(err error) Outcome {
	if isOneOf(err, localFailures) {
		return LocalFailure
	}
	return ConnectFailure
}

// NeverConnected reports whether err of connecting says that the endpoint refused or is unreachable. An error of TLS is none, as another
// endpoint of the set must prove who it is, too.
func NeverConnected(err error) bool { return isOneOf(err, unconnected) }

func isOneOf(err error, list []error) bool {
	for _, each := range list {
		if errors.Is(err, each) {
			return true
		}
	}
	return false
}
