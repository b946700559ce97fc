package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestModuleBatches(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                  "module example.com/ferry\n",
		"codec/x_test.go":         "package codec\n",
		"cpu/x_test.go":           "package cpu\n",
		"nodes/x_test.go":         "package nodes\n",
		"node/x_test.go":          "package node\n",
		"node/config/x_test.go":   "package config\n",
		"proxy/x_test.go":         "package proxy\n\nimport _ \"sync/atomic\"\n",
		"proxy/interop/x_test.go": "package interop\n\nimport _ \"sync/atomic\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name          string
		race, raceAll bool
		want          []string
	}{
		{"race detector", true, false, []string{
			"[-race example.com/ferry/proxy/interop] false", "[-race example.com/ferry/proxy] false", "[example.com/ferry/cpu] true",
			"[example.com/ferry/node example.com/ferry/node/config] false", "[example.com/ferry/codec example.com/ferry/nodes] false",
		}},
		{"race detector in all", true, true, []string{
			"[-race example.com/ferry/cpu] true", "[-race example.com/ferry/proxy/interop example.com/ferry/node example.com/ferry/node/config] false",
			"[-race example.com/ferry/proxy example.com/ferry/codec example.com/ferry/nodes] false",
		}},
		{"no compiler", false, true, []string{
			"[example.com/ferry/cpu] true", "[example.com/ferry/proxy/interop example.com/ferry/node example.com/ferry/node/config] false",
			"[example.com/ferry/proxy example.com/ferry/codec example.com/ferry/nodes] false",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			batches, err := moduleBatches(dir, row.race, row.raceAll, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range batches {
				got = append(got, fmt.Sprint(append(b.flags, b.packages...), b.second))
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got\n%q\nwant\n%q", got, row.want)
			}
		})
	}
}
