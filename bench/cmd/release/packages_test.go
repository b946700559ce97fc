//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"example.com/ferry/internal/needs"
)

// debVersion is the version as dpkg orders it: a release candidate comes before the release.
const debVersion = "1.2.3~rc.1"

// TestDebian installs the package on a copy of this machine's root, runs the unit's command and a client, and removes the package: only
// the data directory is left.
func TestDebian(t *testing.T) {
	r := makeRelease(t)
	needs.Root(t)
	for _, name := range []string{"dpkg", "systemd-analyze", "ip"} {
		needs.Program(t, name)
	}
	deb := r.file("ferry_" + debVersion + "_amd64.deb")
	text := output(t, "unshare", "--mount", "--net", "--pid", "--fork", "sh", "testdata/debian.sh", deb, t.TempDir())
	t.Log(text)
	if !strings.Contains(text, "== version\nferry "+version+" ") {
		t.Errorf("ferry version is not %s", version)
	}
	if !strings.Contains(text, "== run\nferry is running at ") {
		t.Error("the unit's command does not run")
	}
	_, left, _ := strings.Cut(text, "== left\n")
	for file := range strings.Lines(left) {
		if !strings.HasPrefix(file, "/var/lib/ferry/ferry-data/") {
			t.Errorf("left behind: %s", file)
		}
	}
}

// TestDebianFiles compares the binaries in the packages with those of the archives.
func TestDebianFiles(t *testing.T) {
	r := makeRelease(t)
	needs.Program(t, "dpkg-deb")
	for _, arch := range []string{"amd64", "arm64"} {
		deb := r.file(fmt.Sprintf("ferry_%s_%s.deb", debVersion, arch))
		files := inTar(t, strings.NewReader(output(t, "dpkg-deb", "--fsys-tarfile", deb)))
		if !bytes.Equal(files["usr/bin/ferry"], program(t, r, "linux_"+arch)) {
			t.Errorf("%s: another binary than in the archive", arch)
		}
		if !strings.Contains(string(files["usr/share/man/man1/ferry-run.1"]), ".TH FERRY") {
			t.Errorf("%s: no man page of ferry run", arch)
		}
		if got := strings.TrimSpace(output(t, "dpkg-deb", "--field", deb, "Architecture")); got != arch {
			t.Errorf("architecture %s, want %s", got, arch)
		}
	}
}

// TestRPM lists the packages' files, and compares the binaries' digests with those of the archives.
func TestRPM(t *testing.T) {
	r := makeRelease(t)
	needs.Program(t, "rpm")
	for arch, platform := range map[string]string{"x86_64": "linux_amd64", "aarch64": "linux_arm64"} {
		rpm := r.file(fmt.Sprintf("ferry-1.2.3~rc.1-1.%s.rpm", arch))
		list := output(t, "rpm", "-qlp", rpm)
		for _, file := range []string{"/usr/bin/ferry", "/etc/ferry/node.yaml", "/usr/share/man/man1/ferry.1", "/usr/lib/systemd/system/ferry.service"} {
			if !strings.Contains(list, file+"\n") {
				t.Errorf("%s: no %s", arch, file)
			}
		}
		digests := output(t, "rpm", "-qp", "--queryformat", `[%{FILENAMES} %{FILEDIGESTS}\n]%{ARCH}`, rpm)
		if want := fmt.Sprintf("/usr/bin/ferry %x\n", sha256.Sum256(program(t, r, platform))); !strings.Contains(digests, want) {
			t.Errorf("%s: another binary than in the archive: %s", arch, digests)
		}
		if !strings.HasSuffix(digests, arch) {
			t.Errorf("architecture in %q, want %s", digests, arch)
		}
		if text := output(t, "rpm", "--checksig", "--nosignature", rpm); !strings.Contains(text, "digests OK") {
			t.Error(text)
		}
	}
}
