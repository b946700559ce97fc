//go:build linux

package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// The roles of a process of the test binary, as values of the environment variable role.
const (
	role         = "FERRY_PROOF_ROLE"
	roleFunction = "function" // a function, see functionConfig
	roleEngine   = "engine"   // a server of a NATS cluster, see engineConfig
	roleEdge     = "edge"     // a publisher with a spool, see edgeConfig
)

// settings is the environment variable with the configuration of a role.
const settings = "FERRY_PROOF_SETTINGS"

func TestMain(m *testing.M) {
	switch r := os.Getenv(role); r {
	case "":
		code := m.Run()
		if built != "" {
			_ = os.RemoveAll(built)
		}
		os.Exit(code)
	case roleFunction:
		exit(runAs(runFunction))
	case roleEdge:
		exit(runAs(runEdge))
	case roleEngine:
		exit(runAs(runEngine))
	default:
		exit(fmt.Errorf("unknown role %q", r))
	}
}

// built is the directory of the program ferry. It is empty before ferryProgram is called.
var built string

// ferryProgram builds the program ferry once.
var ferryProgram = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "proof"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "ferry")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/ferry").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, err
})

// runAs runs a role with its settings.
func runAs[T any](run func(context.Context, T) error) error {
	var v T
	if err := json.Unmarshal([]byte(os.Getenv(settings)), &v); err != nil {
		return err
	}
	return run(context.Background(), v)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
