//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package spool

func isDiskFull(error) bool { return false }
