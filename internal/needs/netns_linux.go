package needs

import (
	"os/exec"
	"syscall"
)

// tryNetNS runs a short program in a new network namespace, and returns an error if that is not permitted.
func tryNetNS() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	return cmd.Run()
}
