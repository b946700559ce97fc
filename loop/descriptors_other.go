//go:build !unix

package loop

// descriptorLimit returns 0: the system has no limit of descriptors that a process can ask for.
func descriptorLimit() int { return 0 }
