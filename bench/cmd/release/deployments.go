package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// unreleased is the version of chart and manifests in the tree.
const unreleased = "0.0.0-unreleased"

// deployments makes the archive of the Helm chart, as `helm package` names it, and the plain manifests, both with this version.
func (r *release) deployments(context.Context, string) error {
	chart := filepath.Join(r.root, "packaging", "helm", "ferry")
	var entries []entry
	if err := fs.WalkDir(os.DirFS(chart), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		e, err := r.source(path.Join("ferry", name), filepath.Join("packaging", "helm", "ferry", name))
		if name == "Chart.yaml" {
			e.content = r.versioned(e.content)
		}
		entries = append(entries, e)
		return err
	}); err != nil {
		return err
	}
	if err := r.writeTarGz(fmt.Sprintf("ferry-%s.tgz", r.number()), entries); err != nil {
		return err
	}
	manifests, err := r.source("", "packaging/kubernetes/ferry.yaml")
	if err != nil {
		return err
	}
	return os.WriteFile(r.file(fmt.Sprintf("ferry_%s_kubernetes.yaml", r.number())), r.versioned(manifests.content), 0o644)
}

// versioned returns a text with this version in place of that in the tree. Neither a label nor the tag of an image has a +.
func (r *release) versioned(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte(unreleased), []byte(strings.ReplaceAll(r.number(), "+", "_")))
}
