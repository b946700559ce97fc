// Package disktest has a file system for tests that behaves as a disk does when things go wrong: it forgets what was not synced
// when the power fails, becomes full, and damages what it has stored.
//
// It is a FUSE file system in the memory of the test, so processes that the test starts can use it, too.
//
//	disk := disktest.Mount(t, disktest.Config{})
//	start(t, disk.Dir) // a process that stores files
//	process.Kill()
//	disk.LosePower()
//	start(t, disk.Dir)
package disktest
