// Package needs lets a test say what it needs beyond Go and git.
//
// A test that calls Program, Root or NetNS is skipped, with the line that helps, on a machine that lacks the thing. Where
// the environment has CI=true nothing may be missing: there the same test fails. `make test` lists what was skipped.
//
//	func TestDashboard(t *testing.T) {
//		chromium := needs.Program(t, "chromium") // skips: needs chromium: make deps
//		...
//	}
package needs
