package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader that has seen enough closes the pipe: the next write says so, and the verb ends as it should.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
