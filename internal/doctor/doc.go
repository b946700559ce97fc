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
