// Package change has the proof that a server changes under load without losing anything: reloads, upgrades, certificates, broken files and
// broken programs, while clients of all kinds go on (bench/internal/clientload). It has tests only.
//
// TestChange is a short form, which checks ferry's counts. With the build tag proof, TestChangeProof makes the number of changes that the
// project promises, measures latencies and gaps beside those of an undisturbed run, and does the same with nginx and Envoy.
package change
