// Package needs skips tests that need more than Go and git.
//
// A test calls Program, Root, NetNS, FUSE or Cores. If the machine lacks what the test needs, the test is skipped. Its skip
// text names the command that installs the need. With CI=true in the environment the test fails instead. `make test` lists the skipped
// tests.
//
//	func TestDashboard(t *testing.T) {
//		chromium := needs.Program(t, "chromium") // skips: needs chromium: make deps
//		...
//	}
package needs
