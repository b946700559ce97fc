// Package atree builds and runs a program over the crate a-tree, which is a peer of field.Index.
//
// Program.Install builds the program with cargo into the user's cache directory, which takes about a minute once. A benchmark installs it when
// it starts, and omits its row if that fails. Tests use it only if it is installed.
package atree
