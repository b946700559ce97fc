// Package doctor finds what is wrong on a machine, or in a configuration, for running a node.
//
// Each check is one function, and checks is the list of them. A check reports findings: what is wrong, where, why it matters, and the
// command or setting that mends it. Everything that a check reads of the machine comes through a Machine, so that a test can describe one.
//
//	findings := doctor.Examine(ctx, doctor.Config{Node: cfg, Source: source})
//	for _, f := range findings {
//		fmt.Println(f.Severity, f.Check, f.What)
//	}
package doctor

// Files: what ferry doctor finds: doctor.go has the list of checks and what a finding is, each check has a file, and
// machine.go is all that they read of the machine, so that a test describes one.
