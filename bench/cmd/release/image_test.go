//go:build linux

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"example.com/ferry/internal/needs"
)

// TestImage runs the image's command as the image's user on the image's file system.
func TestImage(t *testing.T) {
	r := makeRelease(t)
	config, layer := readImage(t, read(t, r.file("ferry_"+number+"_linux_amd64.oci.tar")))
	needs.Root(t)
	needs.NetNS(t)
	dir := t.TempDir()
	extract(t, layer, dir)
	user, group, _ := strings.Cut(config.Config.User, ":")
	if err := os.Mkdir(filepath.Join(dir, "proc"), 0o755); err != nil { // as a container runtime does
		t.Fatal(err)
	}
	inRoot := func(args ...string) []string {
		command := []string{"unshare", "--root=" + dir, "--wd=" + config.Config.WorkingDir, "--setgid=" + group, "--setuid=" + user}
		return append(append(command, config.Config.Entrypoint...), args...)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--net", "--mount", "sh", "-ec", `ip link set lo up; mount -t proc proc "$0/proc"; exec "$@"`, dir}, inRoot(args...)...)...)
		cmd.Stderr = t.Output()
		return cmd
	}
	text, err := run("version").Output()
	if err != nil || !strings.HasPrefix(string(text), "ferry "+version+" ") {
		t.Fatalf("%v: ferry version prints %q", err, text)
	}
	node := run(config.Config.Cmd...)
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ferry is running at ") {
		t.Errorf("%v: the node prints %q", err, line)
	}
	client := exec.CommandContext(t.Context(), "nsenter", append([]string{fmt.Sprintf("--target=%d", node.Process.Pid), "--net", "--mount"}, inRoot("pub", "--ack", "plant/1")...)...)
	client.Stdin = strings.NewReader(`{"value":31}`)
	if text, err := client.CombinedOutput(); err != nil {
		t.Errorf("ferry pub in the container: %v: %s", err, text)
	}
	if err := node.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := node.Wait(); err != nil {
		t.Error(err)
	}
}

// TestImages checks what the images say about themselves, and that each has the binary of the archive and no root user.
func TestImages(t *testing.T) {
	r := makeRelease(t)
	for _, arch := range []string{"amd64", "arm64"} {
		config, layer := readImage(t, read(t, r.file("ferry_"+number+"_linux_"+arch+".oci.tar")))
		if config.Architecture != arch || config.OS != "linux" || config.Config.User != "65532:65532" {
			t.Errorf("%s: an image for %s/%s and user %s", arch, config.OS, config.Architecture, config.Config.User)
		}
		if got := config.Config.Labels["org.opencontainers.image.version"]; got != number {
			t.Errorf("%s: version %s, want %s", arch, got, number)
		}
		files := inTar(t, unzip(t, layer))
		if !bytes.Equal(files["usr/bin/ferry"], program(t, r, "linux_"+arch)) {
			t.Errorf("%s: another binary than in the archive", arch)
		}
		if !trusts(files["etc/ssl/certs/ca-certificates.crt"], "ISRG Root X1") {
			t.Errorf("%s: the image does not trust Let's Encrypt", arch)
		}
	}
}

// trusts reports whether a file of certificates in PEM has an authority of this name.
func trusts(file []byte, name string) bool {
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err == nil && c.IsCA && c.Subject.CommonName == name && c.CheckSignatureFrom(c) == nil {
			return true
		}
	}
	return false
}

// readImage reads the image layout in a tar, from index.json on: the image's configuration, and its only layer.
func readImage(t *testing.T, archive []byte) (config v1.ConfigFile, layer []byte) {
	t.Helper()
	files := inTar(t, bytes.NewReader(archive))
	decode := func(name string, to any) {
		t.Helper()
		if err := json.Unmarshal(files[name], to); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	var index v1.IndexManifest
	decode("index.json", &index)
	var manifest v1.Manifest
	decode(blob(index.Manifests[0].Digest), &manifest)
	decode(blob(manifest.Config.Digest), &config)
	if files["oci-layout"] == nil || len(manifest.Layers) != 1 {
		t.Fatalf("no image layout with one layer: %d layers", len(manifest.Layers))
	}
	var docker []struct {
		Config string
		Layers []string
	}
	decode("manifest.json", &docker)
	if docker[0].Config != blob(manifest.Config.Digest) || !slices.Equal(docker[0].Layers, []string{blob(manifest.Layers[0].Digest)}) {
		t.Errorf("manifest.json names %v, index.json another image", docker)
	}
	return config, files[blob(manifest.Layers[0].Digest)]
}

// extract unpacks a layer with its owners and modes.
func extract(t *testing.T, layer []byte, dir string) {
	t.Helper()
	for a := tar.NewReader(unzip(t, layer)); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(path, 0o700)
		} else {
			var data []byte
			if data, err = io.ReadAll(a); err == nil {
				err = os.WriteFile(path, data, 0o600)
			}
		}
		if err := errors.Join(err, os.Chown(path, h.Uid, h.Gid), os.Chmod(path, h.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
}
