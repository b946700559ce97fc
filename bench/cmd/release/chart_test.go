//go:build linux

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"example.com/ferry/format/all"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
)

// TestChart lints and renders the chart with Helm's code, for several values. The plain manifests are what the chart makes without values.
func TestChart(t *testing.T) {
	needsPython(t)
	text := output(t, python, "testdata/chart.py", root+"/packaging/helm/ferry",
		`{}`,
		`{"serviceMonitor": {"enabled": true, "labels": {"release": "prometheus"}}}`,
		`{"replicas": 3, "persistence": {"enabled": false}, "podDisruptionBudget": {"enabled": false}, "image": {"repository": "registry.example.com/ferry", "tag": "1"},
		  "imagePullSecrets": [{"name": "registry"}], "service": {"type": "LoadBalancer", "annotations": {"a": "b"}}, "podAnnotations": {"a": "b"},
		  "extraVolumes": [{"name": "keys", "secret": {"secretName": "keys"}}], "extraVolumeMounts": [{"name": "keys", "mountPath": "/keys"}],
		  "nodeSelector": {"edge": "true"}, "tolerations": [{"key": "edge", "operator": "Exists"}], "affinity": {"podAntiAffinity": {}}}`,
	)
	var rendered []map[string]string // by the name of the template
	if err := json.Unmarshal([]byte(text), &rendered); err != nil {
		t.Fatal(err)
	}
	var plain strings.Builder
	plain.WriteString("# Made of packaging/helm/ferry: cd bench && go test ./cmd/release -run Chart -update\n")
	for _, name := range slices.Sorted(maps.Keys(rendered[0])) {
		plain.WriteString("---\n" + rendered[0][name])
	}
	compare(t, "ferry.yaml", plain.String())
	compare(t, "servicemonitor.yaml", "# For the Prometheus operator. Made like ferry.yaml.\n"+rendered[1]["servicemonitor.yaml"])

	var configMap struct{ Data map[string]string }
	if err := yaml.Unmarshal([]byte(rendered[0]["configmap.yaml"]), &configMap); err != nil {
		t.Fatal(err)
	}
	checkNode(t, "node.yaml of the chart", []byte(configMap.Data["node.yaml"]))
}

// TestConfigurations checks the configurations of image and packages as ferry check does.
func TestConfigurations(t *testing.T) {
	for _, name := range []string{"packaging/node.yaml", "packaging/image/node.yaml"} {
		checkNode(t, name, read(t, filepath.Join(root, name)))
	}
}

func checkNode(t *testing.T, name string, text []byte) {
	t.Helper()
	extensions := node.Extensions{Formats: all.Formats(), Transports: node.Transports()}
	if _, err := config.Parse(name, text, extensions.Program()); err != nil {
		t.Error(err)
	}
}

// compare compares a text with a file of packaging/kubernetes.
func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(root, "packaging", "kubernetes", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(read(t, path)); got != want {
		t.Errorf("%s is not what the chart makes: go test ./cmd/release -run Chart -update", path)
	}
}
