//go:build linux

package faults

import (
	"os"
	"testing"

	"example.com/ferry/cmd/ferry/cli"
	"example.com/ferry/format/all"
	"example.com/ferry/node"
)

// asFerry is set in the environment of a test binary that runs as ferry.
const asFerry = "FERRY_FAULTS_IS_FERRY"

func TestMain(m *testing.M) {
	if os.Getenv(asFerry) != "" {
		formats := all.Formats()
		os.Exit(cli.Main(node.Extensions{Formats: formats, Transports: node.Transports(), Functions: node.Functions(formats)}))
	}
	os.Exit(m.Run())
}
