// Package proxytest has what the tests of package proxy and of its drivers share.
//
// Downstream, Upstream and Connector are the two sides of package exchange's contract in memory: a driver's own side is tested
// against the double of the other, and the package's own
// tests have both doubles meet in every order of events. Each double fails the test when the
// contract is broken. A Rig is event loops with clusters, plans and counters on them; Serve, Script and Dial make the servers
// and clients around it. Rand is the only source of chance: its seed is in the test's log.
package proxytest
