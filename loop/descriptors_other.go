//go:build !unix

package loop

// descriptorLimit returns 0: this system does not report a limit of descriptors.
func descriptorLimit() int { return 0 }
