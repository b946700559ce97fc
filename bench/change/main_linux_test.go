package change

import (
	"os"
	"testing"

	"example.com/ferry/cmd/ferry/cli"
	"example.com/ferry/format/all"
	"example.com/ferry/node"
)

// asFerry is set for a test binary that runs as the program ferry, with the race detector if the tests have it.
const asFerry = "FERRY_CHANGE_IS_FERRY"

func TestMain(m *testing.M) {
	if os.Getenv(asFerry) != "" {
		formats := all.Formats()
		os.Exit(cli.Main(node.Extensions{Formats: formats, Transports: node.Transports(), Functions: node.Functions(formats)}))
	}
	os.Exit(m.Run())
}
