//go:build !unix

package pace

// poll does nothing: pipes are not in the runtime's poller.
func poll() {}
