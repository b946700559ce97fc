package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/internal/doctor"
)

// diagnose runs ferry doctor and returns what it found.
func diagnose(t *testing.T, args ...string) (outcome, []doctor.Finding) {
	t.Helper()
	got := ferryWith("", append([]string{"doctor", "-o", "json"}, args...)...)
	var found []doctor.Finding
	if err := json.Unmarshal([]byte(got.stdout), &found); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return got, found
}

// faultsOf returns what the faults of a check say.
func faultsOf(found []doctor.Finding, check string) []string {
	var all []string
	for _, f := range found {
		if f.Check == check && f.Severity == doctor.Fault {
			all = append(all, f.Where+": "+f.What)
		}
	}
	return all
}

// TestDoctorOfAllAddresses examines a node whose admin server listens at all addresses of the machine.
func TestDoctorOfAllAddresses(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("MDEyMzQ1Njc4OWFiY2RlZjAxMjM\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	yaml := fmt.Sprintf("listeners: [{address: 'tcp://127.0.0.1:0'}]\nadmin: {address: '0.0.0.0:0', token_file: '%s'}\n", filepath.ToSlash(token))
	n := runNode(t, yaml)
	port := regexp.MustCompile(`dashboard: \S+:(\d+)/`).FindStringSubmatch(n.welcome)[1]
	file := filepath.Join(t.TempDir(), "node.yaml")
	yaml = strings.Replace(yaml, "0.0.0.0:0", "0.0.0.0:"+port, 1) + "data_dir: '" + filepath.ToSlash(filepath.Join(n.dir, "ferry-data")) + "'\n"
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	_, found := diagnose(t, "-c", file)
	if !slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Check == "node" && f.Severity == doctor.Fine }) || len(faultsOf(found, "ports")) > 0 {
		t.Errorf("%+v, want that the node is ready and has its ports", found)
	}
}

// TestDoctor examines a node that runs, one that does not, and a file with errors.
func TestDoctor(t *testing.T) {
	t.Parallel()
	n := runNode(t, "listeners: [{address: 'tcp://127.0.0.1:0'}]\nadmin: {address: '127.0.0.1:0'}\n")
	admin := regexp.MustCompile(`dashboard: (\S+)`).FindStringSubmatch(n.welcome)[1]
	_, found := diagnose(t, "--data-dir", n.dir, admin)
	if !slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Check == "node" && f.Severity == doctor.Fine }) {
		t.Errorf("a node that runs: %+v, want that it is ready", found)
	}
	got, found := diagnose(t, "--data-dir", n.dir, "127.0.0.1:1")
	if faults := faultsOf(found, "node"); got.status != statusFailed || len(faults) != 1 || strings.Contains(faults[0], "\n") {
		t.Errorf("no node: %+v, want status 1 and one line about it", got)
	}
	file := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(file, []byte("limits: {queue: 1MiB}\nlimit: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, found = diagnose(t, "-c", file)
	if faults := faultsOf(found, "configuration"); got.status != statusFailed || len(faults) != 1 || !strings.HasPrefix(faults[0], file+":2: limit: unknown field") {
		t.Errorf("a wrong field: %+v, want status 1, file and line", got)
	}
	if got := ferryWith("", "doctor", "--all", "--data-dir", t.TempDir()); !regexp.MustCompile(`(?m)^fine +kernel: |^unchecked kernel: not checked on `).MatchString(got.stdout) ||
		!regexp.MustCompile(`faults: \d+, warnings: \d+, fine: \d+, not checked: \d+\n$`).MatchString(got.stdout) {
		t.Errorf("as text: %+v", got)
	}
	for _, args := range [][]string{{"-c", filepath.Join(t.TempDir(), "none")}, {"ftp://x"}, {"-o", "yaml"}, {"--nope"}} {
		if got := ferryWith("", append([]string{"doctor"}, args...)...); got.status != statusUsage || got.stdout != "" {
			t.Errorf("%q: %+v, want status 2", args, got)
		}
	}
}
