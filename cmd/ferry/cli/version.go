package cli

import (
	"cmp"
	"encoding/json"
	"runtime"
	"runtime/debug"
)

// release is the version of a released binary, such as v1.2.3. The linker sets it: make release. Empty means that of the build
// information, which go build takes from git.
var release string

type versionCmd struct {
	Output string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
}

// Run prints version, revision, Go version and platform.
func (c *versionCmd) Run(e *env) error {
	if c.Output != "json" {
		return e.print([]byte(version() + "\n"))
	}
	info := buildInfo()
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return e.print(append(text, '\n'))
}

type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildInfo() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(release, info.Main.Version, b.Version)
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}

func version() string {
	b := buildInfo()
	text := "ferry " + b.Version
	if b.Revision != "" {
		text += " (" + b.Revision[:min(12, len(b.Revision))] + ")"
	}
	return text + " " + b.Go + " " + b.Platform
}
