//go:build !unix

package cli

import "context"

// upgradeOnSignal does nothing, as the system has no SIGUSR2.
func (*runner) upgradeOnSignal(context.Context) (stop func()) { return func() {} }
