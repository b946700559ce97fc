package needs

import (
	"os/exec"
	"syscall"
)

// tryNetNS runs a short program in a new network namespace. It returns an error if the process has no permission for that.
func tryNetNS() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	return cmd.Run()
}
