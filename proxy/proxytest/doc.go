// Package proxytest has what the tests of package proxy and of its drivers share.
//
// Downstream, Upstream and Connector implement package exchange's contract in memory. They are test doubles: a
// driver's own side is tested against the double of the other side. The tests of this package connect both doubles
// and try random orders of events. A double fails the test if its peer breaks the contract. A Rig has event loops,
// clusters, plans and counters. Serve, Script and Dial create servers and clients. Rand is the only source of random
// numbers, and its seed is in the test's log.
package proxytest
