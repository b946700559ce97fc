// Package attacker misuses a server in one of several known ways, in a process of its own, until it is stopped.
//
// Each attack has connections that are opened again as soon as the server closes them. The attacker follows HTTP/2 as far as
// the attack permits: a server may refuse what is excessive, but not what is malformed. Linux only.
//
//	p, err := attacker.Start([]int{1}, attacker.Spec{Kind: attacker.RapidReset, Addr: "127.0.0.1:18080", From: "127.0.0.2"})
//	defer p.Stop()
package attacker
