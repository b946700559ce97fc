// Package needs skips tests that need more than Go and git, where it is missing.
//
// A test that calls Program, Root, NetNS or Cores is skipped, with the command that installs the need, on a machine without
// it. With CI=true in the environment the same test fails. `make test` lists the skipped tests.
//
//	func TestDashboard(t *testing.T) {
//		chromium := needs.Program(t, "chromium") // skips: needs chromium: make deps
//		...
//	}
package needs
