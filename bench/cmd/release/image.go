package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser is the user and group of the image. It is none of the system's, and what distroless images use.
const imageUser = 65532

// images makes an image for each binary for Linux: an OCI image layout in a tar, as podman, skopeo, containerd and docker load it.
func (r *release) images(_ context.Context, work string) error {
	for _, b := range r.binaries {
		if b.os != "linux" {
			continue
		}
		image, err := r.image(b)
		if err != nil {
			return err
		}
		if err := r.writeImage(image, b, filepath.Join(work, "image-"+b.String())); err != nil {
			return err
		}
	}
	return nil
}

// image returns the image of a binary. It has no distribution below it, and its user is not root.
func (r *release) image(b binary) (v1.Image, error) {
	entries, err := r.imageFiles(b)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	if err := writeTar(&files, r.time, entries); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: r.time}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), mutate.Addendum{
		Layer: layer, History: v1.History{Created: created, CreatedBy: "ferry " + r.version},
	})
	if err != nil {
		return nil, err
	}
	cfg, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture, cfg.Created = b.os, b.arch, created
	if b.arm != "" {
		cfg.Variant = "v" + b.arm
	}
	cfg.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/ferry"}, Cmd: []string{"run", "-c", "/etc/ferry/node.yaml"},
		User: fmt.Sprintf("%d:%d", imageUser, imageUser), WorkingDir: "/var/lib/ferry", Env: []string{"PATH=/usr/bin"},
		ExposedPorts: map[string]struct{}{"4190/tcp": {}, "4190/udp": {}, "4196/tcp": {}},
		Volumes:      map[string]struct{}{"/var/lib/ferry": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "ferry", "org.opencontainers.image.version": r.number(), "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, cfg)
}

// imageFiles returns the whole file system of the image.
func (r *release) imageFiles(b binary) ([]entry, error) {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	config, err := r.source("etc/ferry/node.yaml", "packaging/image/node.yaml")
	if err != nil {
		return nil, err
	}
	licence, err := r.source("usr/share/doc/ferry/LICENSE", "LICENSE")
	if err != nil {
		return nil, err
	}
	trusted, err := authorities()
	if err != nil {
		return nil, err
	}
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/ferry/", mode: 0o755},
		config,
		{name: "etc/group", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:\nferry:x:%d:\n", imageUser)},
		{name: "etc/passwd", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:0::/:\nferry:x:%d:%d::/var/lib/ferry:\n", imageUser, imageUser)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		trusted,
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/ferry", mode: 0o755, content: program},
		{name: "usr/share/", mode: 0o755},
		{name: "usr/share/doc/", mode: 0o755},
		{name: "usr/share/doc/ferry/", mode: 0o755},
		licence,
		{name: "var/", mode: 0o755},
		{name: "var/lib/", mode: 0o755},
		{name: "var/lib/ferry/", mode: 0o750, owner: imageUser},
	}, nil
}

// writeImage writes the image's layout to dir, and all of dir into a tar. manifest.json is what docker before version 25 reads.
func (r *release) writeImage(image v1.Image, b binary, dir string) error {
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	name := "ferry:" + strings.ReplaceAll(r.number(), "+", "_") // a tag has no +
	if err := to.AppendImage(image, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name": "docker.io/library/" + name, "org.opencontainers.image.ref.name": name,
	})); err != nil {
		return err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	docker, err := json.Marshal([]map[string]any{{
		"Config": blob(manifest.Config.Digest), "RepoTags": []string{name}, "Layers": []string{blob(manifest.Layers[0].Digest)},
	}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), docker, 0o644); err != nil {
		return err
	}
	var entries []entry
	if err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
			return err
		case d.IsDir():
			entries = append(entries, entry{name: path + "/", mode: 0o755})
			return nil
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		entries = append(entries, entry{name: path, mode: 0o644, content: data})
		return err
	}); err != nil {
		return err
	}
	f, err := os.Create(r.file(fmt.Sprintf("ferry_%s_%s.oci.tar", r.number(), b)))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := writeTar(f, r.time, entries); err != nil {
		return err
	}
	return f.Close()
}
