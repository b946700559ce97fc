// Package regularfile reads whole files of a bounded size that a configuration names. A named pipe would block its reader, and a device
// such as /dev/zero has no end: only regular files are read.
package regularfile
