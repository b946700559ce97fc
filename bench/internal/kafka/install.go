package kafka

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is the version of Kafka that Install installs: that of pom.xml.
const Version = "4.1.0"

//go:embed pom.xml
var pom []byte

// Installed reports whether Kafka and java are installed.
func Installed() bool {
	dir, err := home()
	if err != nil {
		return false
	}
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	_, err = exec.LookPath("java")
	return err == nil
}

// Install downloads the libraries, unless they are installed.
func Install() error {
	if Installed() {
		return nil
	}
	for _, program := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("kafka: install it, or go without Kafka: %w", err)
		}
	}
	dir, err := home()
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), "half-")
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer func() { _ = os.RemoveAll(half) }()
	file := filepath.Join(half, "pom.xml")
	if err := os.WriteFile(file, pom, 0o600); err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	argv := []string{"mvn", "-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory=" + half}
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("kafka: %v: %w: %s", argv, err, out)
	}
	return os.Rename(half, dir)
}

// home returns the directory of the libraries.
func home() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "ferry-bench", "kafka-"+Version), err
}
